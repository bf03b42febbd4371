/**
 * Until when an owner may append to a channel's tape without a new answer about its lease. Another machine gets the lease soon after this one is
 * silent, so a process that was suspended must ask first.
 *
 *   known until: asked + 4 s ──► not known: audio is held (audio/frames/held-frames.ts) ──► another answer, or 3 s without Redis ──► it goes on
 *   not looked at for 0.5 s ───► not known
 *
 * Owned by one Feeding. All times are monotonic milliseconds.
 */

import { KNOWN_MS } from './leases.js';

/**
 * A longer gap between two checks is a suspension. Another machine takes the channels over later than that (leases.ts, STALE_MS; lease-claim.ts,
 * QUIET_MS).
 */
const STILL_MS = 500;
/** Without Redis, and without a known owner that is reached, for this long, the channel is fed here. */
export const ALONE_MS = 3000;

export class FeedingTime {
  readonly #isFenced: boolean;
  #knownUntilMs = Number.POSITIVE_INFINITY;
  /** Answers to questions asked before this time are ignored. */
  #wokenMs = Number.NEGATIVE_INFINITY;
  #lookedMs: number;
  #stoodStill = false;
  /** Since when the lease is unknown and Redis is away; +∞: that is not the case. */
  #aloneSinceMs = Number.POSITIVE_INFINITY;

  /** @param isFenced whether Redis answers fast enough for this; else audio is never held */
  constructor(isFenced: boolean, nowMs: number) {
    this.#isFenced = isFenced;
    this.#lookedMs = nowMs;
  }

  /** In the past if audio must be held. */
  untilMs(nowMs: number): number {
    if (!this.#isFenced) return Number.POSITIVE_INFINITY;
    this.#look(nowMs);
    return Math.min(this.#knownUntilMs, nowMs + STILL_MS);
  }

  /** This machine has the lease. */
  onMine(askedMs: number, nowMs: number): void {
    this.#look(nowMs);
    if (askedMs >= this.#wokenMs) this.#knownUntilMs = askedMs + KNOWN_MS;
  }

  /** Called a few times a second. @param isReached whether Redis is reached @returns whether it was suspended: ask for the lease at once */
  tick(nowMs: number, isReached: boolean): boolean {
    if (!this.#isFenced) return false;
    this.#look(nowMs);
    this.#lookedMs = nowMs;
    const isKnown = nowMs <= this.#knownUntilMs;
    const isAlone = nowMs > this.#aloneSinceMs + ALONE_MS;
    if (isKnown || isReached) this.#aloneSinceMs = Number.POSITIVE_INFINITY;
    else this.#aloneSinceMs = Math.min(this.#aloneSinceMs, nowMs);
    // Without Redis nothing changes.
    if (!isReached && (isKnown || isAlone)) this.#knownUntilMs = Number.POSITIVE_INFINITY;
    const stoodStill = this.#stoodStill;
    this.#stoodStill = false;
    return stoodStill;
  }

  #look(nowMs: number): void {
    if (nowMs - this.#lookedMs <= STILL_MS) return;
    this.#stoodStill = true;
    this.#wokenMs = nowMs;
    this.#lookedMs = nowMs;
    this.#knownUntilMs = Number.NEGATIVE_INFINITY;
  }
}
