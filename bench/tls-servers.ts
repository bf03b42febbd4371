/**
 * For the measurement of TLS: certificates, and nginx and HAProxy, which terminate TLS in front of airsplice, each as one process of one thread with
 * the settings of config/deploy/proxies that matter for a stream. Owned by scenarios/tls.ts.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NGINX, ownProcess } from '../test/kit/shipped-nginx.js';
import { freePort, Started } from './process.js';

const HAPROXY = '/usr/sbin/haproxy';

export const KEYS = ['rsa', 'ecdsa'] as const;
export type KeyKind = (typeof KEYS)[number];

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Certificate and key in one file, for HAProxy and Icecast. */
  readonly bothFile: string;
}

/** Makes a self-signed certificate: RSA of 2,048 bits, or ECDSA on P-256. */
export function makeCertificate(kind: KeyKind, folder: string): CertificateFiles {
  const [certFile, keyFile, bothFile] = ['cert', 'key', 'both'].map((name) => join(folder, `${kind}-${name}.pem`));
  const key = kind === 'rsa' ? ['rsa:2048'] : ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  const out = ['-keyout', keyFile!, '-out', certFile!, '-days', '2', '-subj', '/CN=localhost'];
  execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', ...key, ...out], { stdio: 'ignore' });
  writeFileSync(bothFile!, Buffer.concat([readFileSync(certFile!), readFileSync(keyFile!)]), { mode: 0o644 });
  return { certFile: certFile!, keyFile: keyFile!, bothFile: bothFile! };
}

export interface TlsProxy {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
}

/** Undefined: it is not installed. */
export async function startNginxTls(
  folder: string,
  origin: number,
  { certFile, keyFile }: CertificateFiles,
): Promise<TlsProxy | undefined> {
  if (!existsSync(NGINX)) return undefined;
  const [port, clear] = [await freePort(), await freePort()];
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; master_process off; worker_processes 1; worker_rlimit_nofile 20000; pid ${folder}/pid; error_log stderr error;
events { worker_connections 16384; }
${ownProcess(folder)}
  access_log off; tcp_nodelay on; keepalive_requests 1000000000;
  ssl_certificate ${certFile}; ssl_certificate_key ${keyFile}; ssl_session_tickets on;
  server {
    listen 127.0.0.1:${port} ssl backlog=4096; listen 127.0.0.1:${clear};
    location = /record.json { root ${folder}; default_type application/json; add_header Cache-Control "public, max-age=1"; }
    proxy_http_version 1.1; proxy_buffering off; chunked_transfer_encoding off; proxy_read_timeout 1h;
    location / { proxy_pass http://127.0.0.1:${origin}; }
  }
}
`,
  );
  const server = new Started(NGINX, ['-e', 'stderr', '-c', file]);
  await server.ready(`http://127.0.0.1:${clear}/readyz`);
  return { name: 'nginx before airsplice', port, pid: server.pid };
}

/** Undefined: it is not installed. */
export async function startHaproxyTls(
  folder: string,
  origin: number,
  { bothFile }: CertificateFiles,
): Promise<TlsProxy | undefined> {
  if (!existsSync(HAPROXY)) return undefined;
  const [port, clear] = [await freePort(), await freePort()];
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(
    file,
    `global
  maxconn 8000
  nbthread 1
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen radio
  bind 127.0.0.1:${port} ssl crt ${bothFile} alpn http/1.1
  bind 127.0.0.1:${clear}
  server airsplice 127.0.0.1:${origin}
`,
  );
  const server = new Started(HAPROXY, ['-db', '-f', file]);
  await server.ready(`http://127.0.0.1:${clear}/readyz`);
  return { name: 'HAProxy before airsplice', port, pid: server.pid };
}
