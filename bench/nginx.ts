/**
 * nginx with the nchan module as one process: what pushes to WebSocket readers and polls of a file cost there. It publishes the same bytes as
 * airsplice. Owned by the scenarios, which give it a folder.
 */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TlsAddress } from './airsplice.js';
import { freePort, Started } from './process.js';
import { Requests } from './requests.js';
import { stamp } from './stamp.js';

const NGINX = '/usr/sbin/nginx';
const NCHAN = '/usr/lib/nginx/modules/ngx_nchan_module.so';

/** A server with records that can be polled and watched. */
export interface Feed {
  readonly name: string;
  readonly port: number;
  /** Whether that port is over TLS. */
  readonly isSecure: boolean;
  readonly pids: readonly number[];
  /** Path of the record. */
  readonly pollPath: string;
  watchPath(channel: string): string;
  /** Publishes message `number` with the moment at which it was due, of stamp.ts's clock. Rejects when it is refused. */
  publish(channel: string, number: number, dueMs: number): Promise<void>;
  /** Closes our connections to it. */
  close(): void;
}

/** Why it cannot be had, or false. */
export function missingNchan(): string | false {
  return !(existsSync(NGINX) && existsSync(NCHAN)) && 'not installed: nginx with libnginx-mod-nchan';
}

/**
 * `record` is the file that polls get, and with stamps in place of `song`, and channels in place of "poll", what is published.
 * @param tls a port over TLS, beside the one in the clear
 */
export async function startNginx(folder: string, record: string, song: string, tls?: TlsAddress): Promise<Feed> {
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(join(folder, 'record.json'), record, { mode: 0o644 });
  writeFileSync(file, configuration(folder, port, tls));
  // One process without a master, so that a kill leaves no worker behind.
  const server = new Started(NGINX, ['-c', file, '-p', folder]);
  await server.ready(`http://127.0.0.1:${port}/record.json`);
  const requests = new Requests(port, 4);
  return {
    name: 'nginx + nchan',
    port,
    isSecure: false,
    pids: [server.pid],
    pollPath: '/record.json',
    watchPath: (channel) => `/watch/${channel}`,
    async publish(channel, number, dueMs) {
      const body = record.replaceAll(song, stamp(number, dueMs)).replaceAll('"poll"', JSON.stringify(channel));
      const { status } = await requests.ask(`POST /publish/${channel}`, { body });
      if (status < 200 || status > 202) throw new Error(`nchan answered ${status}`);
    },
    close: () => requests.close(),
  };
}

function configuration(folder: string, port: number, tls?: TlsAddress): string {
  const secured =
    tls &&
    `listen 127.0.0.1:${tls.port} ssl backlog=1024; ssl_certificate ${tls.certFile}; ssl_certificate_key ${tls.keyFile};`;
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  return `load_module ${NCHAN};
daemon off; master_process off; worker_processes 1; worker_rlimit_nofile 20000;
pid ${folder}/nginx.pid; error_log stderr error;
events { worker_connections 16384; }
http {
  ${temporary.join(' ')}
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000000; open_file_cache max=10;
  nchan_shared_memory_size 64M;
  server {
    listen 127.0.0.1:${port} backlog=1024; ${secured ?? ''}
    location = /record.json { root ${folder}; default_type application/json; add_header Cache-Control "public, max-age=1"; add_header Access-Control-Allow-Origin *; }
    location ~ ^/publish/(.+)$ { nchan_publisher; nchan_channel_id $1; nchan_message_buffer_length 10; }
    location ~ ^/watch/(.+)$ { nchan_subscriber websocket; nchan_channel_id $1; }
  }
}
`;
}
