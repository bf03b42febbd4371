/**
 * Where a new listener begins on a tape, so that its burst starts its player and keeps it going.
 *
 *        found ── at least the burst's seconds, a block and LATE_MS ── edge
 *    │ 41 │ 42 │ 43 │ 44 │ 45 │ 46 │ 47 │ 48 │ 49 │ 50 │ 51 │ 52 │ 53 │ open
 *         └──── READ_BLOCK_BYTES ───────────┘└──── LATE_MS ─────┘
 *
 * Invariant: the burst's seconds are given wherever the tape has them; but no listener begins close to the tape's tail for the sake of a block, or
 * of rarer writes. Pure.
 */

import type { AudioTape } from './audio-tape.js';

/**
 * Firefox and Chromium read every type of audio in blocks of 32 KiB (Firefox: `MediaCacheStream::Read` waits until a block is whole).
 * With less they do not begin, and when they have played a block they need the next.
 */
export const READ_BLOCK_BYTES = 32 * 1024;
/** How late the next bytes may be: a segment of a second, and a second until it is written to listeners. */
const LATE_MS = 2000;
/** Audio beside its burst for a listener that is written to every four seconds in place of one: the next bytes come this much later. */
export const MAX_MORE_MS = 3000;
/** For the sake of a block no listener begins nearer to the tail: lagSeconds exceeds burstSeconds by this at least. */
const SPARE_MS = 5000;

/**
 * The newest segment with an entry that has `burstMs` and a block behind it, else the oldest with an entry; `head` if the burst is 0 or no segment
 * is closed yet.
 * @param burstMs milliseconds of audio
 * @param moreMs extra audio before that; ignored if the tape does not have it
 */
export function joinAt(tape: AudioTape, burstMs: number, moreMs = 0): number {
  const found = joinWith(tape, burstMs, LATE_MS);
  const entryMs = tape.at(found)?.entryMs;
  if (moreMs === 0 || entryMs === undefined) return found;
  const wantedMs = tape.edgeMs - entryMs + moreMs;
  const earlier = joinWith(tape, wantedMs, LATE_MS + moreMs);
  const givenMs = tape.edgeMs - (tape.at(earlier)?.entryMs ?? Number.POSITIVE_INFINITY);
  return givenMs >= wantedMs && givenMs <= tape.lagMs - SPARE_MS ? earlier : found;
}

/**
 * Where a listener from another tape continues: at the newest segment with an entry that has what its player lacks, else the oldest; `head` if it
 * lacks nothing. Its player plays already, so blocks do not matter.
 */
export function resumeAt(tape: AudioTape, lackMs: number): number {
  let found = Math.max(tape.head, tape.joinFrom);
  let givenMs = 0;
  while (givenMs < lackMs) {
    const seq = tape.lastEntry(found - 1);
    if (seq < tape.tail || seq < tape.joinFrom) break;
    found = seq;
    givenMs = tape.edgeMs - tape.at(seq)!.entryMs;
  }
  return found;
}

/** The first segment at which any listener with a burst up to `burstMs` may begin, with `moreMs` or without. */
export function neededFrom(tape: AudioTape, burstMs: number, moreMs: number): number {
  const found = joinWith(tape, burstMs, LATE_MS);
  const entryMs = tape.at(found)?.entryMs;
  if (entryMs === undefined) return found;
  let seq = joinWith(tape, tape.edgeMs - entryMs + moreMs, LATE_MS + moreMs);
  // No listener begins this far back for the sake of more.
  while (seq < found && tape.edgeMs - tape.at(seq)!.entryMs > tape.lagMs - SPARE_MS) seq++;
  return Math.min(found, seq);
}

/** @param lateMs how late the next bytes may be */
function joinWith(tape: AudioTape, burstMs: number, lateMs: number): number {
  let found = Math.max(tape.head, tape.joinFrom);
  if (burstMs <= 0) return found;
  let [burst, blockBytes] = [0, 0];
  let before = found;
  for (let seq = tape.lastEntry(found - 1); seq >= tape.tail && seq >= tape.joinFrom; seq = tape.lastEntry(seq - 1)) {
    const { entryMs, startMs, bytes } = tape.at(seq)!;
    // If any segment has no entry, all are of one length.
    if (tape.edgeMs - startMs > lateMs) blockBytes += (before - seq) * bytes.length;
    before = seq;
    const ms = tape.edgeMs - entryMs;
    if (burst >= burstMs && ms > tape.lagMs - SPARE_MS) break;
    found = seq;
    burst = ms;
    if (burst >= burstMs && blockBytes >= READ_BLOCK_BYTES) break;
  }
  return found;
}
