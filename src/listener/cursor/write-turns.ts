/**
 * When each listener is written to: in its turn every one to four seconds (slots.ts), and at once if its tape resumes (resumes.ts). Without
 * listeners it needs no ticks of the clock. Owned by the audience.
 */

import type { AlarmHandler, Clock, Ticker } from '../../base/clock.js';
import { Resumes } from '../sessions/resumes.js';
import { Slots, type TurnHandler } from '../sessions/slots.js';
import type { Listener } from './listener.js';
import { WRITE_SECONDS, type WriteSeconds } from './pace.js';

export class WriteTurns {
  readonly #clock: Clock;
  readonly #handler: TurnHandler<Listener>;
  /** By seconds between two writes. */
  readonly #turns: Readonly<Record<WriteSeconds, Slots<Listener>>>;
  /** All listeners. */
  readonly slots: readonly (readonly Listener[])[];
  readonly #resumes: Resumes;
  readonly #ticker: Ticker;
  #count = 0;

  /** @param handler is called when a listener is due; on each tick, while there are listeners, it calls `turn` */
  constructor(clock: Clock, handler: TurnHandler<Listener> & AlarmHandler) {
    this.#clock = clock;
    this.#handler = handler;
    const slotsFor = (seconds: WriteSeconds) => new Slots<Listener>(seconds, clock.now());
    this.#turns = { 1: slotsFor(1), 2: slotsFor(2), 4: slotsFor(4) };
    this.slots = WRITE_SECONDS.flatMap((seconds) => this.#turns[seconds].slots);
    this.#resumes = new Resumes(this.slots);
    this.#ticker = clock.everyTick(handler);
  }

  /** Number of listeners. */
  get count(): number {
    return this.#count;
  }

  /** After `Runs.enter`. */
  add(listener: Listener): void {
    const nowMs = this.#clock.now();
    if (this.#count++ === 0) this.#begin(nowMs);
    this.#resumes.enter(listener.runs!, nowMs);
    this.#turns[listener.writeSeconds].add(listener, listener.runs!.group);
  }

  /** After `Runs.leave`. */
  remove(listener: Listener): void {
    this.#count--;
    this.#turns[listener.writeSeconds].remove(listener);
    this.#resumes.leave(listener.runs!);
  }

  /** Changes how often it is written to. */
  pace(listener: Listener, seconds: WriteSeconds): void {
    this.#turns[listener.writeSeconds].remove(listener);
    listener.writeSeconds = seconds;
    this.#turns[seconds].add(listener, listener.runs!.group);
  }

  turn(nowMs: number): void {
    for (const seconds of WRITE_SECONDS) this.#turns[seconds].turn(nowMs, this.#handler);
    this.#resumes.look(nowMs, this.#handler);
    if (this.#count === 0) this.#ticker.rest();
  }

  #begin(nowMs: number): void {
    for (const seconds of WRITE_SECONDS) this.#turns[seconds].begin(nowMs);
    this.#ticker.run();
  }
}
