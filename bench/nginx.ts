/**
 * nginx with the nchan module as one process, a peer for pushes to WebSocket readers and for polls of a file. It publishes the same bytes as
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

/** A server of records to poll and watch. */
export interface Feed {
  readonly name: string;
  readonly port: number;
  /** Whether that port has TLS. */
  readonly isSecure: boolean;
  readonly pids: readonly number[];
  /** Path of the record. */
  readonly pollPath: string;
  watchPath(channel: string): string;
  /** Publishes message `number` with the time at which it was due, by the clock of stamp.ts. Rejects if it is refused. */
  publish(channel: string, number: number, dueMs: number): Promise<void>;
  /** Closes our connections to it. */
  close(): void;
}

/** Why it is not available; false: it is. */
export function missingNchan(): string | false {
  return !(existsSync(NGINX) && existsSync(NCHAN)) && 'not installed: nginx with libnginx-mod-nchan';
}

/**
 * @param record the polled file, and the template of messages: stamps replace `song`, channels replace "poll"
 * @param tls an additional port with TLS
 */
export async function startNginx(folder: string, record: string, song: string, tls?: TlsAddress): Promise<Feed> {
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(join(folder, 'record.json'), record, { mode: 0o644 });
  writeFileSync(file, configuration(folder, port, tls));
  // One process without a master, so that no worker survives a kill.
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
