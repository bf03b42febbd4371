/**
 * A probe: a request for some bytes of a stream, by which a player finds out what it is before it plays it on another connection (Safari asks
 * for `bytes=0-1`). It is answered as a listener is, with these bytes, and is none: it has a place only while it waits for audio.
 */

import type { Socket } from 'node:net';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import { NOTHING } from '../../audio/tape/segment.js';
import type { StreamRequest } from './stream-request.js';

/** Who asks for more listens: no answer here ends with a range. */
export const MAX_PROBE_BYTES = 4096;
/** In which a probe has what it wants. */
const PROBE_MS = 2000;
const RANGE = /^bytes=(\d{1,9})-(\d{1,9})$/i;

/** 0: it is not a probe. */
export function probedBytes(request: Pick<StreamRequest, 'header'>): number {
  const [, from, to] = RANGE.exec(request.header('range')?.trim() ?? '') ?? [];
  const bytes = Number(to) - Number(from) + 1;
  return bytes > 0 && bytes <= MAX_PROBE_BYTES ? bytes : 0;
}

/** Of what a listener would be sent; fewer where it would have to wait for more. */
export function firstBytes(tape: AudioTape, icy: boolean, bytes: number): Buffer {
  return (
    tape
      .at(tape.lastEntry(tape.head - 1))
      ?.entered(icy)
      .subarray(0, bytes) ?? NOTHING
  );
}

/** It stays open for a moment: without a length, its end would be the end of the stream. @param bytes head and all */
export function answerProbe(socket: Socket, bytes: Buffer): void {
  socket
    .on('error', () => undefined)
    .on('end', () => socket.end())
    .resume();
  socket.write(bytes);
  const deadline = setTimeout(() => socket.destroySoon(), PROBE_MS);
  socket.once('close', () => clearTimeout(deadline));
}
