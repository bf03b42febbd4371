/** The shipped config/deploy/caches/nginx.conf, with another port, origin and folders. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const CACHES_FOLDER = new URL('../../config/deploy/caches/', import.meta.url).pathname;
export const NGINX = '/usr/sbin/nginx';

/** A shipped file with replacements, each of which must be found. */
export function adapted(name: string, replacements: readonly (readonly [string, string])[]): string {
  return replacements.reduce(
    (text, [from, to]) => {
      const next = text.replaceAll(from, to);
      if (next === text) throw new Error(`${name} has no ${from}`);
      return next;
    },
    readFileSync(CACHES_FOLDER + name, 'utf8'),
  );
}

/** Lines for separate folders, since system folders may belong to another user; one process. */
export function ownProcess(folder: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  return `http { ${temporary.join(' ')}`;
}

/**
 * Writes the configuration of a cache in one process, on a port of 127.0.0.1.
 * @param accessLog replaces `access_log off;`; null: unchanged
 * @returns the arguments for nginx
 */
export function nginxCache(folder: string, port: number, origin: number, accessLog: string | null = null): string[] {
  const text = adapted('nginx.conf', [
    ...(accessLog === null ? [] : [['access_log off;', accessLog] as const]),
    ['worker_rlimit_nofile 131072;', `daemon off; master_process off; pid ${folder}/pid; error_log stderr error;`],
    ['worker_connections 65536;', 'worker_connections 4096;'],
    ['http {', ownProcess(folder)],
    ['/var/cache/nginx', folder],
    ['server 127.0.0.1:8000;', `server 127.0.0.1:${origin};`],
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['listen 443 ssl;', ''],
    ['ssl_certificate /etc/ssl/radio.example/fullchain.pem;', ''],
    ['ssl_certificate_key /etc/ssl/radio.example/privkey.pem;', ''],
  ]);
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, text);
  return ['-e', 'stderr', '-c', file];
}
