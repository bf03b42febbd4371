/**
 * How far the median listener of a channel hears behind the live edge, by the listeners' clocks (player-clock.ts).
 *
 * Computed on demand for all channels at once, from an even sample of each channel's listeners, and kept for seconds. Several processes share
 * histograms of their samples, and each takes the median of all. Owned by the audience.
 */

import type { Clock } from '../../base/clock.js';
import { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import type { Listener } from '../cursor/listener.js';

/** How long a sample is used. */
const FRESH_MS = 5000;
/** The same if there are other processes. */
const SHARED_FRESH_MS = 1000;
/** A step of the shared histogram. */
const STEP_MS = 100;
/** Listeners in the sample of a channel. */
const MAX_SAMPLED = 200;

interface ChannelSample {
  /** Listeners counted so far, sampled or not. */
  passed: number;
  /** Every `stride`-th is in the sample. */
  stride: number;
  readonly lagsMs: number[];
  /** Null: no listener plays. */
  medianMs: number | null;
  /** Another process has changed its histogram since. */
  isOld: boolean;
  /** The histogram shared with other processes; null: there are none. */
  readonly tally: Tally | null;
}

type WeightedLag = readonly [lagMs: number, weight: number];

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

  /** Milliseconds of audio, up to five seconds old. Null: no listener plays. @param channel its key */
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
      sample.stride = Math.max(1, Math.ceil(sample.passed / MAX_SAMPLED));
      sample.passed = 0;
      sample.lagsMs.length = 0;
    }
    for (const slot of this.#slots) for (const listener of slot) this.#pass(listener, nowMs);
    for (const sample of this.#samples.values()) {
      if (sample.tally !== null) shareLags(sample, sample.tally);
      settle(sample);
    }
  }

  #sampleOf(channel: string): ChannelSample {
    let sample = this.#samples.get(channel);
    if (sample === undefined) {
      const tally = this.#tallies.isShared ? this.#tallies.tally(`lag ${channel}`) : null;
      const made: ChannelSample = { passed: 0, stride: 1, lagsMs: [], medianMs: null, isOld: tally !== null, tally };
      tally?.onOthers(() => void (made.isOld = true));
      this.#samples.set(channel, (sample = made));
    }
    return sample;
  }

  #pass(listener: Listener, nowMs: number): void {
    const sample = this.#sampleOf(listener.channel);
    if (listener.playback.joinMs < 0 || sample.passed++ % sample.stride !== 0) return;
    if (sample.lagsMs.length < MAX_SAMPLED) sample.lagsMs.push(listener.playback.heardLagMs(nowMs));
  }
}

/** Computes the median of our listeners and the others'. */
function settle(sample: ChannelSample): void {
  const { lagsMs, stride, tally } = sample;
  const lags = lagsMs.map((lagMs): WeightedLag => [lagMs, stride]);
  for (const [step, count] of tally?.ofOthers ?? []) lags.push([Number(step) * STEP_MS, count]);
  sample.isOld = false;
  sample.medianMs = weightedMedian(lags);
}

function shareLags({ lagsMs, stride }: ChannelSample, tally: Tally): void {
  const counts = new Map<string, number>();
  for (const lagMs of lagsMs) {
    const step = String(Math.round(lagMs / STEP_MS));
    counts.set(step, (counts.get(step) ?? 0) + stride);
  }
  for (const step of tally.keys()) if (!counts.has(step)) tally.set(step, 0);
  for (const [step, count] of counts) tally.set(step, count);
}

/** Sorts `values`. Of an even number it takes the upper one. */
function weightedMedian(values: WeightedLag[]): number | null {
  const sum = values.reduce((all, [, weight]) => all + weight, 0);
  let below = 0;
  for (const [lagMs, weight] of values.sort(([a], [b]) => a - b)) {
    below += weight;
    if (below > sum / 2) return lagMs;
  }
  return null;
}
