/**
 * The lag of a channel's typical listener: how much later than the live edge the median listener hears. By the clock of each listener's
 * player (player-clock.ts), which knows its burst and the stalls that could be seen.
 *
 * All listeners are looked at together, when it is asked for and the last look is too old; of each channel a sample counts, evenly out of
 * the crowd. Owned by the audience.
 */

import type { Clock } from '../base/clock.js';
import type { Listener } from './listener.js';

/** A look is not repeated sooner. */
const FRESH_MS = 5000;
/** Of one channel's listeners. */
const MOST_LOOKED_AT = 200;

interface ChannelSample {
  /** How many listeners the last look passed. */
  passed: number;
  /** Every `stride`-th counts. */
  stride: number;
  readonly lagsMs: number[];
  /** Null: none plays. */
  medianMs: number | null;
}

export class TypicalLag {
  readonly #clock: Clock;
  readonly #slots: readonly (readonly Listener[])[];
  readonly #samples = new Map<string, ChannelSample>();
  #staleMs = Number.NEGATIVE_INFINITY;

  /** @param slots all listeners */
  constructor(clock: Clock, slots: readonly (readonly Listener[])[]) {
    this.#clock = clock;
    this.#slots = slots;
  }

  /** Milliseconds of audio, up to five seconds old. Null: nobody plays on this channel. @param channel its key */
  typicalLagMs(channel: string): number | null {
    const nowMs = this.#clock.now();
    if (nowMs >= this.#staleMs) {
      this.#look(nowMs);
      this.#staleMs = nowMs + FRESH_MS;
    }
    return this.#samples.get(channel)?.medianMs ?? null;
  }

  #look(nowMs: number): void {
    for (const sample of this.#samples.values()) {
      sample.stride = Math.max(1, Math.ceil(sample.passed / MOST_LOOKED_AT));
      sample.passed = 0;
    }
    for (const slot of this.#slots) for (const listener of slot) this.#pass(listener, nowMs);
    for (const sample of this.#samples.values()) {
      sample.medianMs = median(sample.lagsMs);
      sample.lagsMs.length = 0;
    }
  }

  #pass(listener: Listener, nowMs: number): void {
    let sample = this.#samples.get(listener.channel);
    if (sample === undefined) {
      sample = { passed: 0, stride: 1, lagsMs: [], medianMs: null };
      this.#samples.set(listener.channel, sample);
    }
    if (!listener.hasBegun || sample.passed++ % sample.stride !== 0) return;
    if (sample.lagsMs.length < MOST_LOOKED_AT) sample.lagsMs.push(listener.heardLagMs(nowMs));
  }
}

/** Sorts `values`. */
function median(values: number[]): number | null {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? null;
}
