/** What the request of a listener says of its player: what an operator is shown of it, its metaid, and whether it takes titles. */

import type { PlayableAudio } from '../../audio/playable-audio.js';
import { READ_BLOCK_BYTES } from '../../audio/tape/burst.js';
import { parameter } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';
import type { ListenerClient } from '../../listener/cursor/listener.js';
import { isMetaid } from '../reads.js';
import type { StreamRequest } from './stream-request.js';

/** Firefox and Chromium; WebKit's player does not call itself so. */
const BROWSER = /^Mozilla\/.*(Firefox|Chrome)\//;
/** Takes no more out of what a write brings than lies before the next block (README.md, "Answers"): MOC. */
const ONE_INTERVAL_A_WRITE = /\bMusic-On-Console\//;
/** How long its interval is, in writes. */
const INTERVAL_WRITES = 4;
/** Of what a listener says of itself as much is kept while it plays. */
const CLIENT_CHARACTERS = 200;

/** What an operator is shown of it. */
export function clientOf(request: StreamRequest, { path: mount }: Mount): ListenerClient {
  const text = (name: string) => (request.header(name) ?? '').slice(0, CLIENT_CHARACTERS);
  return { mount, address: request.address, agent: text('user-agent'), referer: text('referer') };
}

/** Null: it has none, or a malformed one, which plays too. `sabcsid` is the older name (src/http/README.md, "Deprecated host"). */
export function metaidOf({ url }: StreamRequest): string | null {
  const metaid = parameter(url, 'metaid') ?? parameter(url, 'sabcsid');
  return metaid !== null && isMetaid(metaid) ? metaid : null;
}

/** The bytes that its player reads at a time, where that is known. */
export function readBytesOf(request: StreamRequest): number | undefined {
  return BROWSER.test(request.header('user-agent') ?? '') ? READ_BLOCK_BYTES : undefined;
}

/** Asked for with a non-zero integer (src/http/stream/README.md, "Answers"). */
function wantsIcy(request: StreamRequest): boolean {
  const value = request.header('icy-metadata');
  return value !== undefined && /^\s*\d+\s*$/.test(value) && Number(value) !== 0;
}

/** Bytes of audio between the blocks that it is sent; null: it gets none. */
export function metaintOf(request: StreamRequest, { metaint, tape }: PlayableAudio): number | null {
  if (metaint === null || !wantsIcy(request)) return null;
  // A listener of Ogg has a rendering already.
  const isWide = tape?.rendering(true) === null && ONE_INTERVAL_A_WRITE.test(request.header('user-agent') ?? '');
  return isWide ? INTERVAL_WRITES * tape.segmentBytes : metaint;
}
