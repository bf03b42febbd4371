/**
 * Finds the changes between tones of a band (tones.ts) in a recording: the place at which both are equally strong, to about a millisecond. Pure.
 *
 *   power   a ───────╲ ╱─────── b       windows of 40 ms, every 10 ms to find a change, every millisecond to place it
 *                     ╳
 */

import { hertzOf, TONES } from './tones.js';

const WINDOW_SECONDS = 0.04;
const COARSE_SECONDS = 0.01;
const FINE_SECONDS = 0.001;
/** A tone is clear if it is this much stronger than any other of its band, and not silence (of a full scale of 32,768). */
const CLEAR = 6;
const MIN_AMPLITUDE = 150;
/** A tone counts if it is clear in this many consecutive windows. */
const STEADY_WINDOWS = 5;
/** Between two tones of one stream is at most a window; a longer gap was silence. */
const GAP_SECONDS = 0.08;

export interface Change {
  readonly tone: number;
  /** Index of its first sample. */
  readonly at: number;
  /** Whether silence preceded it: at the start, or after a stall or a pause. */
  readonly afterSilence: boolean;
}

export function findChanges(pcm: Int16Array, sampleRate: number, band: number): Change[] {
  const tones = new ToneMeter(sampleRate, band);
  const hop = Math.round(COARSE_SECONDS * sampleRate);
  const changes: Change[] = [];
  let last = { tone: -1, at: 0 };
  let next = { tone: -1, from: 0, windows: 0 };
  for (let at = 0; at + tones.window <= pcm.length; at += hop) {
    const tone = tones.clear(pcm, at);
    const middle = at + tones.window / 2;
    if (tone === -1) continue;
    if (tone !== next.tone || middle - last.at > GAP_SECONDS * sampleRate) next = { tone, from: middle, windows: 0 };
    next.windows++;
    if (next.windows === STEADY_WINDOWS && tone !== changes.at(-1)?.tone) {
      const before = changes.at(-1)?.tone ?? -1;
      const afterSilence = before === -1 || tones.isSilent(pcm, next.from - 2 * tones.window);
      const place = afterSilence ? next.from : tones.cross(pcm, before, tone, next.from);
      changes.push({ tone, at: place, afterSilence });
    }
    last = { tone, at: middle };
  }
  return changes;
}

class ToneMeter {
  readonly window: number;
  readonly #fine: number;
  readonly #cosines: Float64Array[] = [];
  readonly #sines: Float64Array[] = [];
  readonly #least: number;

  constructor(sampleRate: number, band: number) {
    this.window = 2 * Math.round((WINDOW_SECONDS * sampleRate) / 2);
    this.#fine = Math.round(FINE_SECONDS * sampleRate);
    this.#least = ((MIN_AMPLITUDE * this.window) / 4) ** 2;
    for (let tone = 0; tone < TONES; tone++) {
      const [cosine, sine] = [new Float64Array(this.window), new Float64Array(this.window)];
      for (let i = 0; i < this.window; i++) {
        const weight = 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / this.window);
        const angle = (2 * Math.PI * hertzOf(band, tone) * i) / sampleRate;
        cosine[i] = weight * Math.cos(angle);
        sine[i] = weight * Math.sin(angle);
      }
      this.#cosines.push(cosine);
      this.#sines.push(sine);
    }
  }

  /** The clear tone of a window; -1: none. */
  clear(pcm: Int16Array, at: number): number {
    let [tone, most, second] = [-1, 0, 0];
    for (let each = 0; each < TONES; each++) {
      const power = this.#power(pcm, at, each);
      if (power > most) [tone, most, second] = [each, power, most];
      else if (power > second) second = power;
    }
    return most > this.#least && most > CLEAR * second ? tone : -1;
  }

  isSilent(pcm: Int16Array, at: number): boolean {
    if (at < 0) return true;
    for (let each = 0; each < TONES; each++) if (this.#power(pcm, at, each) > this.#least) return false;
    return true;
  }

  /** The place where `to` becomes stronger than `from`. @param near middle of the first clear window */
  cross(pcm: Int16Array, from: number, to: number, near: number): number {
    const half = this.window / 2;
    const difference = (middle: number) =>
      this.#power(pcm, middle - half, to) ** 0.5 - this.#power(pcm, middle - half, from) ** 0.5;
    let after = difference(near);
    for (let middle = near - this.#fine; middle > Math.max(half, near - 2 * this.window); middle -= this.#fine) {
      const before = difference(middle);
      if (before <= 0) return middle + (this.#fine * -before) / Math.max(after - before, 1e-9);
      after = before;
    }
    return near;
  }

  #power(pcm: Int16Array, at: number, tone: number): number {
    const [cosine, sine] = [this.#cosines[tone]!, this.#sines[tone]!];
    let [real, imaginary] = [0, 0];
    for (let i = 0; i < this.window; i++) {
      const sample = pcm[at + i]!;
      real += sample * cosine[i]!;
      imaginary += sample * sine[i]!;
    }
    return real * real + imaginary * imaginary;
  }
}
