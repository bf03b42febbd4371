/**
 * The targets of the metadata benchmark, on free ports of 127.0.0.1 until bench/process.ts stops all: the built airsplice with channels
 * without a source, and nginx with the nchan module as one process with one worker's loop. What both publish is one record of the
 * same bytes. Owned by bench/metadata.ts, whose folder they are given.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpClient } from './http-client.js';
import { freePort, Started } from './process.js';
import { stamp } from './stamp.js';
import { path } from './target.js';

const NGINX = '/usr/sbin/nginx';
const NCHAN = '/usr/lib/nginx/modules/ngx_nchan_module.so';

export interface Feed {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  /** What a poll asks for. */
  readonly pollUrl: string;
  /** Path of the WebSocket of a channel. */
  watchPath(channel: string): string;
  /** Publishes message `number`. Throws when it is refused. */
  publish(channel: string, number: number): Promise<void>;
}

/** A push as JSON, as a playout system sends it. */
export function track(song: string): string {
  return JSON.stringify({
    song,
    artist: 'The Benchmarks',
    duration: 180,
    time: new Date().toISOString(),
    tracktype: 'now',
    etype: 1001,
  });
}

/** The built server with `channels`; `poll` among them is what polls ask for. Throws when it was not built or does not become ready. */
export async function startAirsplice(folder: string, channels: readonly string[], readers: number, client: HttpClient) {
  const main = path('../dist/main.js');
  if (!existsSync(main)) throw new Error('dist/main.js is missing: npm run build');
  const [port, token] = [await freePort(), randomBytes(16).toString('hex')];
  const entry = {
    pushTokens: ['env:BENCH_TOKEN'],
    sources: [{ type: 'encoder', user: 'source', password: 'env:BENCH_TOKEN' }],
  };
  const most = 1_000_000;
  const configuration = {
    addresses: [{ host: '127.0.0.1', port, shoutcastPort: false }],
    data: { folder: join(folder, 'data') },
    log: { level: 'warn' },
    limits: { watchersPerAddress: readers, pushesPerMinute: most, pushBurst: most },
    // JSON is YAML too.
    stations: { bench: { channels: Object.fromEntries(channels.map((key) => [key, { name: 'Bench', ...entry }])) } },
  };
  const file = join(folder, 'airsplice.yaml');
  writeFileSync(file, JSON.stringify(configuration));
  const server = new Started(process.execPath, [main, file], { BENCH_TOKEN: token });
  const origin = `http://127.0.0.1:${port}`;
  await server.ready(`${origin}/healthz`);
  const pushUrl = (channel: string) => `${origin}/metapush/${channel}/${token}`;
  const recordUrl = (channel: string) => `${origin}/metadata/channel/${channel}.json`;
  return {
    name: 'airsplice',
    port,
    pid: server.pid,
    pollUrl: recordUrl('poll'),
    pushUrl,
    recordUrl,
    watchPath: (channel: string) => `/metadata/channel/${channel}`,
    async publish(channel: string, number: number) {
      const { status, text } = await client.send(pushUrl(channel), track(stamp(number)));
      if (status !== 200) throw new Error(`a push was answered ${status}: ${text}`);
    },
  } satisfies Feed & Record<string, unknown>;
}

/** Undefined where nginx or nchan is not installed. `record` is the file that polls get, and with stamps in place of `song` what is published. */
export async function startNginx(
  folder: string,
  record: string,
  song: string,
  client: HttpClient,
): Promise<Feed | undefined> {
  if (!existsSync(NGINX) || !existsSync(NCHAN)) return undefined;
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(join(folder, 'record.json'), record, { mode: 0o644 });
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  writeFileSync(
    file,
    `load_module ${NCHAN};
daemon off; master_process off; worker_processes 1; worker_rlimit_nofile 20000;
pid ${folder}/nginx.pid; error_log stderr error;
events { worker_connections 16384; }
http {
  ${temporary.join(' ')}
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000000; open_file_cache max=10;
  nchan_shared_memory_size 64M;
  server {
    listen 127.0.0.1:${port} backlog=1024;
    location = /record.json { root ${folder}; default_type application/json; add_header Cache-Control "public, max-age=1"; add_header Access-Control-Allow-Origin *; }
    location ~ ^/publish/(.+)$ { nchan_publisher; nchan_channel_id $1; nchan_message_buffer_length 10; }
    location ~ ^/watch/(.+)$ { nchan_subscriber websocket; nchan_channel_id $1; }
  }
}
`,
  );
  // One process without a master, so that a kill leaves no worker behind.
  const server = new Started(NGINX, ['-c', file, '-p', folder]);
  const pollUrl = `http://127.0.0.1:${port}/record.json`;
  await server.ready(pollUrl);
  return {
    name: 'nginx + nchan',
    port,
    pid: server.pid,
    pollUrl,
    watchPath: (channel) => `/watch/${channel}`,
    async publish(channel, number) {
      const { status } = await client.send(
        `http://127.0.0.1:${port}/publish/${channel}`,
        record.replaceAll(song, stamp(number)).replaceAll('"poll"', JSON.stringify(channel)),
      );
      if (status < 200 || status > 202) throw new Error(`nchan answered ${status}`);
    },
  };
}
