/**
 * Stream servers for comparison: the floors in Node and in C, Icecast 2, and any server by URL. Each plays about 128 kb/s. Owned by the scenarios,
 * which name the usable ones.
 */

import { missing } from '../test/kit/program.js';
import { compile, hasCompiler } from './compiler.js';
import type { Context } from './context.js';
import { loopbackTarget } from './crowd.js';
import { startIcecast } from './icecast.js';
import { freePort, listeningAt, Started } from './process.js';
import { path, type Target } from './target.js';

const RATE = 1000;
/** Maximum without delays of seconds, since Icecast's listen queue has 5 places. */
const ICECAST_RATE = 250;
/** Icecast did not accept 10,000 or 15,000 listeners in a reasonable time. */
export const ICECAST_MOST = 4000;

export async function startFloor(): Promise<Target> {
  const port = await freePort();
  const server = new Started(process.execPath, ['--import', 'tsx', path('floor.ts'), String(port)]);
  const url = `http://127.0.0.1:${port}/`;
  await server.ready(url);
  return { name: 'floor (Node)', url, pids: [server.pid], rate: RATE, metricsUrl: `${url}metrics` };
}

/** Undefined, with a note, without a compiler. */
export async function startCFloor(context: Context, notes: string[]): Promise<Target | undefined> {
  if (!hasCompiler) {
    notes.push('no C compiler (cc): without the floor in C');
    return undefined;
  }
  const port = await freePort();
  const server = new Started(compile('floor', context.folder()), [String(port)]);
  const url = `http://127.0.0.1:${port}/`;
  await server.ready(url);
  return { name: 'floor (C)', url, pids: [server.pid], rate: RATE };
}

/** A server that was started elsewhere. Its cost is known if its processes are visible to this user. */
export function byUrl(url: string, notes: string[]): Target {
  const { host, port } = loopbackTarget(url);
  const pids = listeningAt(port);
  if (pids.length === 0) notes.push(`${url}: its processes are not to be seen from here, so its cost is not known`);
  return { name: `${host}:${port}`, url, pids, rate: RATE };
}

/** Starts all wanted peers for a crowd of listeners; unavailable ones are noted. */
export async function startPeers(context: Context, most: number, notes: string[]): Promise<Target[]> {
  const targets: (Target | undefined)[] = [];
  const gone = missing('icecast2', 'ffmpeg');
  if (context.hasPeer('icecast')) {
    if (gone) notes.push(`without Icecast: ${gone}`);
    else targets.push(await startIcecast(context.folder(), Math.min(most, ICECAST_MOST), ICECAST_RATE));
  }
  if (context.hasPeer('c-floor')) targets.push(await startCFloor(context, notes));
  if (context.hasPeer('floor')) targets.push(await startFloor());
  const urls = context.options.against?.filter((each) => each.includes(':')) ?? [];
  targets.push(...urls.map((url) => byUrl(url, notes)));
  return targets.filter((target) => target !== undefined);
}
