/**
 * A probe: a request for the first bytes of a stream, by which a player finds out its format before it plays it on another connection (Safari
 * requests `bytes=0-1`). It is answered like a listener, with these bytes, but counts as one only while it waits for audio.
 */

import type { Socket } from 'node:net';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import { NOTHING } from '../../audio/tape/segment.js';
import type { StreamRequest } from './stream-request.js';

/** A client that requests more is a listener, whose answer does not end with the range. */
export const MAX_PROBE_BYTES = 4096;
/** How long the connection of a probe stays open. */
const PROBE_MS = 2000;
const RANGE = /^bytes=(\d{1,9})-(\d{1,9})$/i;

/** 0: not a probe. */
export function probedBytes(request: Pick<StreamRequest, 'header'>): number {
  const [, from, to] = RANGE.exec(request.header('range')?.trim() ?? '') ?? [];
  const bytes = Number(to) - Number(from) + 1;
  return bytes > 0 && bytes <= MAX_PROBE_BYTES ? bytes : 0;
}

/** The first bytes that a listener would get; fewer if it would have to wait for more. */
export function firstBytes(tape: AudioTape, icy: boolean, bytes: number): Buffer {
  return (
    tape
      .at(tape.lastEntry(tape.head - 1))
      ?.entered(icy)
      .subarray(0, bytes) ?? NOTHING
  );
}

/** Keeps the connection open for PROBE_MS, since its end would be the end of the stream. @param bytes the whole answer with its head */
export function answerProbe(socket: Socket, bytes: Buffer): void {
  socket
    .on('error', () => undefined)
    .on('end', () => socket.end())
    .resume();
  socket.write(bytes);
  const deadline = setTimeout(() => socket.destroySoon(), PROBE_MS);
  socket.once('close', () => clearTimeout(deadline));
}
