/**
 * The built airsplice with a configuration for benchmarks: limits that no crowd from one machine reaches, channels with or without a source, on a
 * free port of 127.0.0.1. bench/process.ts stops it at the end. Owned by the scenario that starts it.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subject } from './context.js';
import { freePort, Started } from './process.js';
import { path, type Target } from './target.js';

/** For limits per address, since each loopback address has a crowd. */
const MANY = 1_000_000;
const RATE = 1000;

export interface TlsAddress {
  readonly port: number;
  readonly certFile: string;
  readonly keyFile: string;
}

export interface AirsplicePlan {
  readonly folder: string;
  /** Keys of channels that play the demo's file: MP3 at 128 kb/s. */
  readonly playing?: readonly string[];
  /** Keys of channels without a source. */
  readonly silent?: readonly string[];
  /** Channel's key → sources, as in the configuration; an encoder's password is env:BENCH_TOKEN. */
  readonly channels?: Readonly<Record<string, readonly object[]>>;
  /** Further top-level options of the configuration. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** An additional address with TLS. */
  readonly tls?: TlsAddress | undefined;
  /** Arguments for Node, before the program. */
  readonly nodeOptions?: readonly string[];
}

export interface Airsplice extends Target {
  readonly metricsUrl: string;
  readonly port: number;
  /** The push token, also the password of encoders. */
  readonly token: string;
  readonly server: Started;
  /** From the start of the process until /readyz answers 200. */
  readonly startSeconds: number;
  pushUrl(channel: string): string;
  recordUrl(channel: string): string;
  watchPath(channel: string): string;
}

/** A push as JSON, as a playout system sends it. */
export function track(song: string): string {
  const time = new Date().toISOString();
  return JSON.stringify({ song, artist: 'The Benchmarks', duration: 180, time, tracktype: 'now', etype: 1001 });
}

/** The target's stream is that of the first playing channel. Rejects if the server is not built, or does not become ready. */
export async function startAirsplice(subject: Subject, plan: AirsplicePlan): Promise<Airsplice> {
  const main = path('../dist/main.js');
  if (!existsSync(main)) throw new Error('dist/main.js is missing: npm run build');
  const [port, token] = [await freePort(), randomBytes(16).toString('hex')];
  const sources = {
    playing: [{ type: 'file', path: path('../config/demo/airsplice.mp3') }],
    silent: [{ type: 'encoder', user: 'source', password: 'env:BENCH_TOKEN' }],
  };
  const own = Object.entries(plan.channels ?? {});
  const all = (['playing', 'silent'] as const).flatMap((kind) =>
    (plan[kind] ?? []).map((key) => [key, sources[kind]] as const),
  );
  const channels = [...all, ...own].map(([key, sources]) => [
    key,
    { name: key, pushTokens: ['env:BENCH_TOKEN'], sources },
  ]);
  const { limits, ...options } = plan.options ?? {};
  const configuration = {
    addresses: [{ host: '127.0.0.1', port, shoutcastPort: false }, ...secured(plan.tls)],
    data: { folder: join(plan.folder, 'data') },
    log: { level: 'warn' },
    ...options,
    ...(subject.workers !== undefined && { workers: subject.workers }),
    limits: { watchersPerAddress: MANY, pushesPerMinute: MANY, pushBurst: MANY, ...(limits as object) },
    stations: { bench: { channels: Object.fromEntries(channels) } },
  };
  mkdirSync(plan.folder, { recursive: true });
  const file = join(plan.folder, 'airsplice.yaml');
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify(configuration));
  const began = performance.now();
  const server = new Started(subject.node, [...(plan.nodeOptions ?? []), main, file], { BENCH_TOKEN: token });
  const origin = `http://127.0.0.1:${port}`;
  await server.ready(`${origin}/${plan.playing === undefined ? 'healthz' : 'readyz'}`, 60);
  const startSeconds = (performance.now() - began) / 1000;
  const url = `${origin}/${plan.playing?.[0] ?? ''}`;
  if (plan.playing !== undefined) await server.ready(url);
  return {
    name: subject.name,
    url,
    pids: [server.pid],
    rate: RATE,
    metricsUrl: `${origin}/metrics`,
    port,
    token,
    server,
    startSeconds,
    pushUrl: (channel) => `${origin}/metapush/${channel}/${token}`,
    recordUrl: (channel) => `${origin}/metadata/channel/${channel}.json`,
    watchPath: (channel) => `/metadata/channel/${channel}`,
  };
}

function secured(tls: AirsplicePlan['tls']): object[] {
  if (tls === undefined) return [];
  const { port, ...files } = tls;
  return [{ host: '127.0.0.1', port, shoutcastPort: false, tls: files }];
}
