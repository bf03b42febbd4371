/** The mean bitrate of about the last second, for frames that do not say it. Owned by one framer. */

/** A higher mean comes from a packet trimmed to a few samples, or from a false claim. Limits of heads and of other processes rely on it. */
export const MAX_KBPS = 10_000;

/** As plain data. */
export interface MeanBitrateState {
  readonly bytes: number;
  readonly ms: number;
  readonly isKnown: boolean;
}

export class MeanBitrate {
  #bytes = 0;
  #ms = 0;
  /** A whole second was counted; from now on less than that is ignored. */
  #isKnown = false;

  get state(): MeanBitrateState {
    return { bytes: this.#bytes, ms: this.#ms, isKnown: this.#isKnown };
  }

  adopt({ bytes, ms, isKnown }: MeanBitrateState): void {
    this.#bytes = bytes;
    this.#ms = ms;
    this.#isKnown = isKnown;
  }

  /** Another stream begins. */
  reset(): void {
    this.#bytes = 0;
    this.#ms = 0;
    this.#isKnown = false;
  }

  /** @param kbps the mean so far @returns the mean now, rounded, at most MAX_KBPS */
  count(bytes: number, durationMs: number, kbps: number): number {
    this.#bytes += bytes;
    this.#ms += durationMs;
    const isWhole = this.#ms >= 1000;
    const isNew = (isWhole || !this.#isKnown) && this.#ms > 0;
    const mean = Math.min(MAX_KBPS, isNew ? Math.round((this.#bytes * 8) / this.#ms) : kbps);
    if (!isWhole) return mean;
    this.#isKnown = true;
    this.#bytes = 0;
    this.#ms = 0;
    return mean;
  }
}
