/**
 * Tapes that resume after a pause: their listeners are written to at once, as they hear nothing and should not wait another second.
 *
 *   segment  segment            nothing            segment ─► all of its listeners, a thousand a tick; then as usual
 *
 * Owned by the audience. Invariant: a tape on which audio keeps coming costs a look per tick.
 */

import { TICK_MS } from '../../base/clock.js';
import type { Listener } from '../cursor/listener.js';
import type { Runs } from './runs.js';
import type { TurnHandler } from './slots.js';

/** No segment for this long, and for this many times the duration of the last one, is a pause. */
const PAUSE_MS = 1200;
const PAUSE_SEGMENTS = 1.2;
/** Turns in one tick: some 10 ms. */
const TURNS_PER_TICK = 1000;

interface Watched {
  /** The number of its next segment, and when that changed last. */
  head: number;
  atMs: number;
  /** The slot whose listeners are next; `NONE`: it has not paused. */
  slot: number;
}
const NONE = -1;

export class Resumes {
  readonly #slots: readonly (readonly Listener[])[];
  readonly #watched = new Map<Runs, Watched>();

  /** @param slots in which all listeners are */
  constructor(slots: readonly (readonly Listener[])[]) {
    this.#slots = slots;
  }

  /** A listener of this tape has joined. */
  enter(runs: Runs, nowMs: number): void {
    if (!this.#watched.has(runs)) this.#watched.set(runs, { head: runs.tape.head, atMs: nowMs, slot: NONE });
  }

  /** A listener of this tape has left. */
  leave(runs: Runs): void {
    if (runs.isEmpty) this.#watched.delete(runs);
  }

  /** Each tick. */
  look(nowMs: number, handler: TurnHandler<Listener>): void {
    for (const [runs, watched] of this.#watched) {
      const { head } = runs.tape;
      if (head !== watched.head) {
        if (nowMs - watched.atMs > pauseMs(runs)) watched.slot = 0;
        watched.head = head;
        watched.atMs = nowMs;
      }
      if (watched.slot !== NONE) this.#turn(runs, watched, nowMs, handler);
    }
  }

  #turn(runs: Runs, watched: Watched, nowMs: number, handler: TurnHandler<Listener>): void {
    let turns = 0;
    while (watched.slot < this.#slots.length && turns < TURNS_PER_TICK) {
      const slot = this.#slots[watched.slot++]!;
      // Backwards: a removal moves the last one into the gap.
      for (let i = slot.length - 1; i >= 0; i--) {
        if (slot[i]!.runs !== runs) continue;
        handler.onTurn(slot[i]!, nowMs);
        turns++;
      }
    }
    if (watched.slot === this.#slots.length) watched.slot = NONE;
  }
}

/** The shortest pause; a tick more, since tapes are looked at once a tick. */
function pauseMs({ tape }: Runs): number {
  const before = tape.at(tape.head - 2);
  const segmentMs = before === undefined ? 0 : before.endMs - before.startMs;
  return Math.max(PAUSE_MS, PAUSE_SEGMENTS * segmentMs) + TICK_MS;
}
