/**
 * Segments joined to one buffer for all listeners that are due the same ones: one write costs less than two, and the copy is made once.
 *
 *   tape     │ 41 │ 42 │ 43 │ 44 │ open         written to at 43: 41 and 42; at 44: 42 and 43; at the edge: 43 and 44
 *   runs               └─────────┘              kept: runs up to the live edge, by their length, with ICY and without
 *
 * The burst of a crowd that joins at one place is a run too. A run is identified by the buffers that it joins, so that no late title is missed.
 * Invariant: at most `MAX_SEGMENTS` - 1 runs of each kind are kept, all ending at the live edge, and one burst of each kind. One for each tape,
 * owned by the audience.
 */

import type { AudioTape } from '../../audio/tape/audio-tape.js';
import type { Mark } from '../../audio/tape/mark.js';
import type { AudioSegment } from '../../audio/tape/segment.js';

/** Four seconds of segments, and one for a late turn. A listener further behind catches up alone. */
const MAX_SEGMENTS = 6;
/** With fewer listeners a copy is not worth its memory. */
const MIN_LISTENERS = 32;

/** A burst is joined once this many listeners in a row had the same. */
const MIN_BURSTS = 4;

interface Run {
  readonly pieces: readonly Buffer[];
  readonly bytes: Buffer;
}

/** The first segments of listeners that join at one place. */
interface Burst {
  readonly from: number;
  readonly to: number;
  joins: number;
  run: Run | null;
}

export class Runs {
  /** A number for its tape: its listeners share a slot if possible. */
  readonly group: number;
  readonly tape: AudioTape;
  #listeners = 0;
  /** Where the kept runs end. */
  #head = 0;
  readonly #runs: (Run | undefined)[] = [];
  #icyBurst: Burst | null = null;
  #plainBurst: Burst | null = null;

  constructor(tape: AudioTape, group: number) {
    this.tape = tape;
    this.group = group;
  }

  /** A listener has joined. Balance with `leave`. */
  enter(): void {
    this.#listeners++;
  }

  /** Whether the tape has no listener. */
  get isEmpty(): boolean {
    return this.#listeners === 0;
  }

  leave(): void {
    if (--this.#listeners >= MIN_LISTENERS) return;
    this.#runs.length = 0;
    this.#icyBurst = null;
    this.#plainBurst = null;
  }

  /** Whether the last `count` segments up to the live edge are a run that listeners share. */
  isShared(count: number): boolean {
    return count > 1 && count <= MAX_SEGMENTS && this.#listeners >= MIN_LISTENERS;
  }

  /** The last `count` segments, up to the live edge. @param had the last late title sent to the listener */
  upToEdge(count: number, icy: boolean, had: Mark | null): Buffer {
    const { head } = this.tape;
    if (head !== this.#head) {
      this.#runs.length = 0;
      this.#head = head;
    }
    const kind = 2 * count + Number(icy);
    const kept = this.#runs[kind];
    if (kept !== undefined && this.#isOf(kept.pieces, head - count, icy, had)) return kept.bytes;
    return (this.#runs[kind] = this.#join(head - count, head, icy, had)).bytes;
  }

  /** Segments `from` to `to` for a listener that begins there; null: too few listeners do for a copy. */
  burst(from: number, to: number, icy: boolean): Buffer | null {
    if (this.#listeners < MIN_LISTENERS) return null;
    let burst = icy ? this.#icyBurst : this.#plainBurst;
    if (burst === null || burst.from !== from || burst.to !== to) {
      burst = { from, to, joins: 0, run: null };
      if (icy) this.#icyBurst = burst;
      else this.#plainBurst = burst;
    }
    if (++burst.joins <= MIN_BURSTS) return null;
    const { run } = burst;
    // Titles may change, the audio never does.
    if (run !== null && (!icy || this.#isOf(run.pieces, from, icy, null, true))) return run.bytes;
    burst.run = this.#join(from, to, icy, null, true);
    return burst.run.bytes;
  }

  #isOf(pieces: readonly Buffer[], from: number, icy: boolean, had: Mark | null, isFirst = false): boolean {
    for (let i = 0; i < pieces.length; i++) {
      const segment = this.tape.at(from + i)!;
      if (pieces[i] !== pieceOf(segment, icy, had, isFirst && i === 0)) return false;
      if (segment.late !== null) had = segment.late;
    }
    return true;
  }

  /** @param isFirst whether segment `from` is its listeners' first */
  #join(from: number, to: number, icy: boolean, had: Mark | null, isFirst = false): Run {
    const tape = this.tape;
    const pieces: Buffer[] = [];
    let length = 0;
    for (let seq = from; seq < to; seq++) {
      const segment = tape.at(seq)!;
      const piece = pieceOf(segment, icy, had, isFirst && seq === from);
      if (segment.late !== null) had = segment.late;
      pieces.push(piece);
      length += piece.length;
    }
    // Not from Node's pool: sockets may hold it.
    const bytes = Buffer.allocUnsafeSlow(length);
    let fill = 0;
    for (const piece of pieces) fill += piece.copy(bytes, fill);
    return { pieces, bytes };
  }
}

function pieceOf(segment: AudioSegment, icy: boolean, had: Mark | null, isFirst: boolean): Buffer {
  if (isFirst) return segment.entered(icy);
  return icy ? segment.titledFor(had) : segment.plain;
}
