/**
 * A target of the comparison: one stream server in its own process, on a free port of 127.0.0.1, until bench/process.ts stops all. Here
 * airsplice and the floor; a peer has its own file. One that needs a folder gets it from its caller, who removes it. Owned by bench/run.ts.
 */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort, Started } from './process.js';

export interface Target {
  readonly name: string;
  /** Of the stream. */
  readonly url: string;
  /** Of the server process. */
  readonly pid: number;
  /** Listeners that arrive per second. */
  readonly rate: number;
  /** Prometheus text, where it has one. */
  readonly metricsUrl?: string;
}

/** The built server with the demo's configuration. Throws when it was not built, or does not become ready. */
export async function startAirsplice(folder: string, rate: number): Promise<Target> {
  const main = path('../dist/main.js');
  if (!existsSync(main)) throw new Error('dist/main.js is missing: npm run build');
  const port = await freePort();
  const server = new Started(process.execPath, [main, path('../config/demo.yaml')], {
    PORT: String(port),
    DATA: folder,
  });
  const origin = `http://127.0.0.1:${port}`;
  const url = `${origin}/demo.mp3`;
  await server.ready(`${origin}/readyz`);
  await server.ready(url);
  return { name: 'airsplice', url, pid: server.pid, rate, metricsUrl: `${origin}/metrics` };
}

export async function startFloor(rate: number): Promise<Target> {
  const port = await freePort();
  const server = new Started(process.execPath, ['--import', 'tsx', path('floor.ts'), String(port)]);
  const url = `http://127.0.0.1:${port}/`;
  await server.ready(url);
  return { name: 'floor', url, pid: server.pid, rate };
}

/** A file beside this one. */
export function path(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
