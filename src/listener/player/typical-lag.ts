/**
 * The lag of a channel's typical listener: how much later than the live edge the median listener hears. By the clock of each listener's
 * player (player-clock.ts), which knows its burst and the stalls that could be seen.
 *
 * All listeners are looked at together, when it is asked for and the last look is too old; of each channel a sample counts, evenly out of
 * the crowd. Several processes say how many of their listeners have about which lag, and each takes the median of all. Owned by the audience.
 */

import type { Clock } from '../../base/clock.js';
import { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import type { Listener } from '../cursor/listener.js';

/** A look is not repeated sooner; where others wait for what it says: */
const FRESH_MS = 5000;
const SHARED_FRESH_MS = 1000;
/** How exactly it is said to other processes. */
const STEP_MS = 100;
/** Of one channel's listeners. */
const MAX_LOOKED_AT = 200;

interface ChannelSample {
  /** How many listeners the last look passed. */
  passed: number;
  /** Every `stride`-th counts. */
  stride: number;
  readonly lagsMs: number[];
  /** Null: none plays. */
  medianMs: number | null;
  /** The others have said something since. */
  isOld: boolean;
  /** How many listeners have about which lag, in steps; null: there are no other processes. */
  readonly tally: Tally | null;
}

/** How late, and how many are. */
type WeighedLag = readonly [lagMs: number, weight: number];

export class TypicalLag {
  readonly #clock: Clock;
  readonly #slots: readonly (readonly Listener[])[];
  readonly #samples = new Map<string, ChannelSample>();
  readonly #tallies: Tallies;
  #staleMs = Number.NEGATIVE_INFINITY;

  /** @param slots all listeners @param tallies with other processes */
  constructor(clock: Clock, slots: readonly (readonly Listener[])[], tallies = new Tallies()) {
    this.#clock = clock;
    this.#slots = slots;
    this.#tallies = tallies;
    tallies.onLook(() => this.#refresh());
  }

  /** Milliseconds of audio, up to five seconds old. Null: nobody plays on this channel. @param channel its key */
  typicalLagMs(channel: string): number | null {
    this.#refresh();
    const sample = this.#tallies.isShared ? this.#sampleOf(channel) : this.#samples.get(channel);
    if (sample === undefined) return null;
    if (sample.isOld) settle(sample);
    return sample.medianMs;
  }

  #refresh(): void {
    const nowMs = this.#clock.now();
    if (nowMs < this.#staleMs) return;
    this.#look(nowMs);
    this.#staleMs = nowMs + (this.#tallies.isShared ? SHARED_FRESH_MS : FRESH_MS);
  }

  #look(nowMs: number): void {
    for (const sample of this.#samples.values()) {
      sample.stride = Math.max(1, Math.ceil(sample.passed / MAX_LOOKED_AT));
      sample.passed = 0;
      sample.lagsMs.length = 0;
    }
    for (const slot of this.#slots) for (const listener of slot) this.#pass(listener, nowMs);
    for (const sample of this.#samples.values()) {
      if (sample.tally !== null) sayLags(sample, sample.tally);
      settle(sample);
    }
  }

  #sampleOf(channel: string): ChannelSample {
    let sample = this.#samples.get(channel);
    if (sample === undefined) {
      const tally = this.#tallies.isShared ? this.#tallies.tally(`lag ${channel}`) : null;
      const made: ChannelSample = { passed: 0, stride: 1, lagsMs: [], medianMs: null, isOld: tally !== null, tally };
      if (tally !== null) tally.onOthers = () => void (made.isOld = true);
      this.#samples.set(channel, (sample = made));
    }
    return sample;
  }

  #pass(listener: Listener, nowMs: number): void {
    const sample = this.#sampleOf(listener.channel);
    if (listener.joinMs < 0 || sample.passed++ % sample.stride !== 0) return;
    if (sample.lagsMs.length < MAX_LOOKED_AT) sample.lagsMs.push(listener.heardLagMs(nowMs));
  }
}

/** Sorts `values`. */
function median(values: number[]): number | null {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? null;
}

function settle(sample: ChannelSample): void {
  sample.isOld = false;
  sample.medianMs = sample.tally === null ? median(sample.lagsMs) : medianOfAll(sample, sample.tally);
}

/** Says the lags of a sample to the others. */
function sayLags({ lagsMs, stride }: ChannelSample, tally: Tally): void {
  const counts = new Map<string, number>();
  for (const lagMs of lagsMs) {
    const step = String(Math.round(lagMs / STEP_MS));
    counts.set(step, (counts.get(step) ?? 0) + stride);
  }
  for (const step of tally.keys()) if (!counts.has(step)) tally.set(step, 0);
  for (const [step, count] of counts) tally.set(step, count);
}

/** Of the others' listeners and ours. */
function medianOfAll({ lagsMs, stride }: ChannelSample, tally: Tally): number | null {
  const own = lagsMs.map((lagMs): WeighedLag => [lagMs, stride]);
  return weightedMedian([...own, ...lagsOfOthers(tally)]);
}

function lagsOfOthers(tally: Tally): WeighedLag[] {
  return [...tally.ofOthers].map(([step, count]): WeighedLag => [Number(step) * STEP_MS, count]);
}

/** Sorts `values`. Of an even number the upper one, as `median` has it. */
function weightedMedian(values: WeighedLag[]): number | null {
  const sum = values.reduce((all, [, weight]) => all + weight, 0);
  let below = 0;
  for (const [lagMs, weight] of values.sort(([a], [b]) => a - b)) {
    below += weight;
    if (below > sum / 2) return lagMs;
  }
  return null;
}
