/** Reads the request of a listener: its metaid, whether it wants titles, and the facts about the player that operators see. */

import type { PlayableAudio } from '../../audio/playable-audio.js';
import { READ_BLOCK_BYTES } from '../../audio/tape/burst.js';
import { parameter } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';
import type { ListenerClient } from '../../listener/cursor/listener-start.js';
import { isMetaid } from '../reads.js';
import type { StreamRequest } from './stream-request.js';

/** Matches Firefox and Chromium, but not WebKit's player. */
const BROWSER = /^Mozilla\/.*(Firefox|Chrome)\//;
/** MOC, which uses only one interval of each write that it receives, and drops the rest (README.md, "Answers"). */
const ONE_INTERVAL_A_WRITE = /\bMusic-On-Console\//;
/** The interval for such players, in writes. */
const INTERVAL_WRITES = 4;
/** Headers that are kept while the listener plays are cut to this length. */
const CLIENT_CHARACTERS = 200;

/** Facts about the player for operators. */
export function clientOf(request: Pick<StreamRequest, 'address' | 'header'>, { path: mount }: Mount): ListenerClient {
  const text = (name: string) => (request.header(name) ?? '').slice(0, CLIENT_CHARACTERS);
  return { mount, address: request.address, agent: text('user-agent'), referer: text('referer') };
}

/** The metaid; null: none, or a malformed one: it plays without a session. `sabcsid` is its older name (src/http/README.md, "Deprecated host"). */
export function metaidOf({ url }: Pick<StreamRequest, 'url'>): string | null {
  const metaid = parameter(url, 'metaid') ?? parameter(url, 'sabcsid');
  return metaid !== null && isMetaid(metaid) ? metaid : null;
}

/** The number of bytes that its player reads at a time; undefined: unknown. */
export function readBytesOf(request: StreamRequest): number | undefined {
  return BROWSER.test(request.header('user-agent') ?? '') ? READ_BLOCK_BYTES : undefined;
}

/** Whether Icy-MetaData is a non-zero integer (src/http/stream/README.md, "Answers"). */
function wantsIcy(request: StreamRequest): boolean {
  const value = request.header('icy-metadata');
  return value !== undefined && /^\s*\d+\s*$/.test(value) && Number(value) !== 0;
}

/** Bytes of audio between its ICY blocks; null: it gets no blocks. */
export function metaintOf(request: StreamRequest, { metaint, tape }: PlayableAudio): number | null {
  if (metaint === null || !wantsIcy(request)) return null;
  // Not in Ogg, where each listener has a rendering of its own.
  const isWide = tape?.rendering(true) === null && ONE_INTERVAL_A_WRITE.test(request.header('user-agent') ?? '');
  return isWide ? INTERVAL_WRITES * tape.segmentBytes : metaint;
}
