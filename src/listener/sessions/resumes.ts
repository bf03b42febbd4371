/**
 * Tapes that resume after a pause: their listeners are written to at once, as they hear nothing and should not wait another second.
 *
 *   segment  segment            nothing            segment ─► all of its listeners, a thousand a tick; then as usual
 *
 * Owned by the audience. Invariant: a tape on which audio keeps arriving costs a look per tick.
 */

import { TICK_MS } from '../../base/clock.js';
import type { Listener } from '../cursor/listener.js';
import type { Runs } from './runs.js';
import type { TurnHandler } from './slots.js';

/**
 * No segment for this long, and for this many times the duration of the last one, is a pause. Files that are read in pieces and bursts of an encoder
 * bring segments of a second up to half a second late.
 */
const PAUSE_MS = 2000;
const PAUSE_SEGMENTS = 1.2;
/** Turns in one tick: some 10 ms. */
const TURNS_PER_TICK = 1000;

interface Watched {
  /** The number of its next segment, and when that changed last. */
  head: number;
  atMs: number;
}

export class Resumes {
  readonly #slots: readonly (readonly Listener[])[];
  readonly #watched = new Map<Runs, Watched>();
  /** Slots gone through since the start: one round of them serves all tapes that have resumed. */
  #passed = 0;
  /** The number of passed slots up to which the listeners of a tape get a turn. */
  readonly #resuming = new Map<Runs, number>();

  /** @param slots all listeners */
  constructor(slots: readonly (readonly Listener[])[]) {
    this.#slots = slots;
  }

  /** A listener of this tape has joined. */
  enter(runs: Runs, nowMs: number): void {
    if (!this.#watched.has(runs)) this.#watched.set(runs, { head: runs.tape.head, atMs: nowMs });
  }

  /** A listener of this tape has left. */
  leave(runs: Runs): void {
    if (!runs.isEmpty) return;
    this.#watched.delete(runs);
    this.#resuming.delete(runs);
  }

  /** Each tick. */
  look(nowMs: number, handler: TurnHandler<Listener>): void {
    for (const [runs, watched] of this.#watched) {
      const { head } = runs.tape;
      if (head === watched.head) continue;
      if (nowMs - watched.atMs > pauseMs(runs)) this.#resuming.set(runs, this.#passed + this.#slots.length);
      watched.head = head;
      watched.atMs = nowMs;
    }
    if (this.#resuming.size > 0) this.#turn(nowMs, handler);
  }

  #turn(nowMs: number, handler: TurnHandler<Listener>): void {
    let turns = 0;
    const round = this.#passed + this.#slots.length;
    while (this.#passed < round && turns < TURNS_PER_TICK) {
      const slot = this.#slots[this.#passed % this.#slots.length]!;
      // Backwards: a removal moves the last one into the gap.
      for (let i = slot.length - 1; i >= 0; i--) {
        const upTo = this.#resuming.get(slot[i]!.runs!);
        if (upTo === undefined || upTo <= this.#passed) continue;
        handler.onTurn(slot[i]!, nowMs);
        turns++;
      }
      this.#passed++;
    }
    for (const [runs, upTo] of this.#resuming) if (upTo <= this.#passed) this.#resuming.delete(runs);
  }
}

/** The shortest pause; a tick more, since tapes are looked at once a tick. */
function pauseMs({ tape }: Runs): number {
  const before = tape.at(tape.head - 2);
  const segmentMs = before === undefined ? 0 : before.endMs - before.startMs;
  return Math.max(PAUSE_MS, PAUSE_SEGMENTS * segmentMs) + TICK_MS;
}
