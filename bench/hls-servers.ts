/**
 * Servers for the measurement of HLS: the shipped cache (nginx) in front of an origin, and the peer, Liquidsoap's `output.file.hls` behind nginx.
 * Owned by scenarios/hls.ts, which gives them folders.
 */

import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asNobody, giveToNobody } from '../test/kit/nobody.js';
import { missing } from '../test/kit/program.js';
import { NGINX, nginxCache, ownProcess } from '../test/kit/shipped-nginx.js';
import { freePort, Started } from './process.js';
import { path } from './target.js';

/** For both servers. */
export const SEGMENT_SECONDS = 4;
const [WINDOW, KEEP] = [6, 12];
/** Time until a playlist is full. */
const FIRST_LIST_SECONDS = 90;

/** A server of a playlist. */
export interface HlsOrigin {
  readonly name: string;
  readonly port: number;
  readonly pids: readonly number[];
  /** Path of the media playlist. */
  readonly listPath: string;
}

/** Why it is not available; false: it is. */
export function missingNginx(): string | false {
  return !existsSync(NGINX) && 'not installed: nginx';
}

/** Why it is not available; false: it is. */
export function missingLiquidsoap(): string | false {
  return missingNginx() || missing('liquidsoap');
}

export class HlsCache implements HlsOrigin {
  readonly name: string;
  readonly port: number;
  readonly pids: readonly number[];
  readonly listPath: string;
  readonly #log: string;
  #read = 0;

  private constructor(origin: HlsOrigin, port: number, pid: number, log: string) {
    this.name = origin.name;
    this.port = port;
    this.pids = [...origin.pids, pid];
    this.listPath = origin.listPath;
    this.#log = log;
  }

  static async start(folder: string, origin: HlsOrigin): Promise<HlsCache> {
    const port = await freePort();
    const log = join(folder, 'access.log');
    appendFileSync(log, '');
    const format = `log_format origin '$upstream_addr $uri'; access_log ${log} origin;`;
    const server = new Started(NGINX, nginxCache(folder, port, origin.port, format));
    await server.ready(`http://127.0.0.1:${port}${origin.listPath}`);
    return new HlsCache(origin, port, server.pid, log);
  }

  /** The paths that it has requested from its origin since the last call. */
  asked(): string[] {
    const lines = readFileSync(this.#log, 'latin1').split('\n').slice(0, -1);
    const since = lines.slice(this.#read);
    this.#read = lines.length;
    return since.filter((line) => !line.startsWith('- ')).map((line) => line.slice(line.indexOf(' ') + 1));
  }
}

/** Liquidsoap encodes and cuts; nginx serves the files, as its documentation recommends. Only nginx's CPU time counts. */
export async function startLiquidsoapHls(folder: string): Promise<HlsOrigin> {
  const port = await freePort();
  const files = join(folder, 'hls');
  mkdirSync(files);
  // It runs as another user, who may have no access to this repository.
  const music = join(folder, 'music.mp3');
  copyFileSync(path('../config/demo/airsplice.mp3'), music);
  const script = join(folder, 'hls.liq');
  writeFileSync(
    script,
    `settings.log.stdout.set(true)
settings.log.file.set(false)
output.file.hls(playlist="main.m3u8", segment_duration=${SEGMENT_SECONDS}., segments=${WINDOW}, segments_overhead=${KEEP - WINDOW},
  "${files}", [("live", %mp3(bitrate=128))], single("${music}"))
`,
  );
  const configuration = join(folder, 'nginx.conf');
  writeFileSync(
    configuration,
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr error;
events { worker_connections 4096; }
${ownProcess(folder)} access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
  server { listen 127.0.0.1:${port}; root ${files}; location / { add_header Access-Control-Allow-Origin *; } }
}
`,
  );
  giveToNobody(folder);
  const [command, ...args] = [...asNobody, 'liquidsoap', script];
  const encoder = new Started(command!, args, { HOME: folder });
  const server = new Started(NGINX, ['-e', 'stderr', '-c', configuration]);
  await Promise.race([server.ready(`http://127.0.0.1:${port}/live.m3u8`, FIRST_LIST_SECONDS), gone(encoder)]);
  return { name: 'Liquidsoap + nginx', port, pids: [server.pid], listPath: '/live.m3u8' };
}

async function gone(program: Started): Promise<never> {
  await program.ended;
  throw program.failure('it has ended');
}
