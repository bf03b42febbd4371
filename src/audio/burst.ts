/**
 * Where a new listener begins on a tape, so that what it gets at once starts its player and keeps it going.
 *
 *        found ── at least the burst's seconds, a block and LATE_MS ── edge
 *    │ 41 │ 42 │ 43 │ 44 │ 45 │ 46 │ 47 │ 48 │ 49 │ 50 │ 51 │ 52 │ 53 │ open
 *         └──── READ_BLOCK_BYTES ───────────┘└──── LATE_MS ─────┘
 *
 * Invariant: the burst's seconds are given wherever the tape has them; for the block no listener begins where the tape soon ends. Pure.
 */

import type { AudioTape } from './audio-tape.js';

/**
 * Firefox and Chromium read every type of audio in blocks of 32 KiB (Firefox: `MediaCacheStream::Read` waits until a block is whole).
 * With less they do not begin, and when a block has been played they need the next.
 */
export const READ_BLOCK_BYTES = 32 * 1024;
/** How late the next bytes may be: a segment of a second, and the second until its listeners are written to. */
const LATE_MS = 2000;
/** For the sake of a block no listener begins nearer to the tape's end: what lagSeconds leaves beyond burstSeconds at least. */
const SPARE_MS = 5000;

/**
 * The newest segment with an entry that has `burstMs` and a block behind it, else the oldest with an entry; `head` when the burst is 0 or
 * nothing is closed yet.
 * @param fence the number of the first segment with which a listener may begin
 * @param burstMs of audio
 */
export function joinAt(tape: AudioTape, fence: number, burstMs: number): number {
  let found = Math.max(tape.head, fence);
  if (burstMs <= 0) return found;
  let [burst, blockBytes] = [0, 0];
  let before = found;
  for (let seq = tape.lastEntry(found - 1); seq >= tape.tail && seq >= fence; seq = tape.lastEntry(seq - 1)) {
    const { entryMs, startMs, bytes } = tape.at(seq)!;
    // Where there are segments without an entry, all are of one length.
    if (tape.edgeMs - startMs > LATE_MS) blockBytes += (before - seq) * bytes.length;
    before = seq;
    const ms = tape.edgeMs - entryMs;
    if (burst >= burstMs && ms > tape.lagMs - SPARE_MS) break;
    found = seq;
    burst = ms;
    if (burst >= burstMs && blockBytes >= READ_BLOCK_BYTES) break;
  }
  return found;
}
