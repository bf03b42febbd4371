/**
 * Until when an owner may put audio onto a channel's tape without knowing more. Another machine has the lease soon after this one is silent, so that
 * one that stood still must not go on as if nothing had happened: it asks first.
 *
 *   known until: asked + 4 s ──► not known: audio is held (audio/frames/held-frames.ts) ──► another answer, or 3 s without Redis ──► it goes on
 *   not looked at for 0.5 s ───► not known
 *
 * Owned by one SharedAudio. All times are monotonic milliseconds.
 */

import { KNOWN_MS } from '../tapes/leases.js';

/**
 * A machine that did nothing for longer stood still. Another one takes its channels over later than that (leases.ts, STALE_MS; shared-audio.ts,
 * QUIET_MS).
 */
const STILL_MS = 500;
/** Without Redis, and without the owner or not knowing who that is, for this long: the channel is fed here. */
export const ALONE_MS = 3000;

export class FeedingTime {
  readonly #isFenced: boolean;
  #knownUntilMs = Number.POSITIVE_INFINITY;
  /** Answers to what was asked before say nothing. */
  #wokenMs = Number.NEGATIVE_INFINITY;
  #lookedMs: number;
  #stoodStill = false;
  /** Since when it is not known, and Redis is away; +∞: it is not so. */
  #aloneSinceMs = Number.POSITIVE_INFINITY;

  /** @param isFenced Redis answers in time for all this; else audio is never held */
  constructor(isFenced: boolean, nowMs: number) {
    this.#isFenced = isFenced;
    this.#lookedMs = nowMs;
  }

  /** Less than now: what comes is to be held. */
  untilMs(nowMs: number): number {
    if (!this.#isFenced) return Number.POSITIVE_INFINITY;
    this.#look(nowMs);
    return Math.min(this.#knownUntilMs, nowMs + STILL_MS);
  }

  /** The lease is this machine's. */
  onMine(askedMs: number, nowMs: number): void {
    this.#look(nowMs);
    if (askedMs >= this.#wokenMs) this.#knownUntilMs = askedMs + KNOWN_MS;
  }

  /** A few times a second. @param isReached whether Redis is. Returns whether it stood still since: the lease is to be asked for at once. */
  tick(nowMs: number, isReached: boolean): boolean {
    if (!this.#isFenced) return false;
    this.#look(nowMs);
    this.#lookedMs = nowMs;
    const isKnown = nowMs <= this.#knownUntilMs;
    const isAlone = nowMs > this.#aloneSinceMs + ALONE_MS;
    if (isKnown || isReached) this.#aloneSinceMs = Number.POSITIVE_INFINITY;
    else this.#aloneSinceMs = Math.min(this.#aloneSinceMs, nowMs);
    // Without Redis all stays as it is.
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
