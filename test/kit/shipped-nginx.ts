/** config/deploy/caches/nginx.conf as it ships, with another port, another origin and folders of a test's own. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const CACHES_FOLDER = new URL('../../config/deploy/caches/', import.meta.url).pathname;
export const NGINX = '/usr/sbin/nginx';

/** What ships, with each of these found and replaced. */
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

/** Folders of its own, for an nginx that another user may not write to; one process. */
export function ownProcess(folder: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  return `http { ${temporary.join(' ')}`;
}

/**
 * A cache in one process, at a port of 127.0.0.1.
 * @param accessLog what it says instead of `access_log off;`; null: that
 * @returns the arguments of nginx
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
