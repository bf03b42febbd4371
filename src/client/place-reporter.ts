/**
 * Reports to the server where the player is, so that `sync=audio`, polling and statistics follow its stalls and its drift
 * (src/http/README.md, "Watching"). At most once a second, and only where the server could not know by itself: a player that goes on in
 * real time is silent for ten seconds. By WebSocket a text frame, else a POST; a server that takes none is not asked again.
 */

import type { Follower } from './follow.js';

/** Never sooner after the last. */
const MIN_MS = 1000;
/** Never later. */
const MAX_MS = 10_000;
/** What the player may be away from where the last report has it by now. */
const DRIFT_MS = 60;
const MAX_REFUSALS = 2;

export class PlaceReporter {
  readonly #feed: Follower;
  readonly #url: URL;
  /** Answers in a row that no report is taken here. */
  #refusals = 0;
  #sentMs = Number.NEGATIVE_INFINITY;
  #heardMs = 0;

  /** @param url for a POST */
  constructor(feed: Follower, url: URL) {
    this.#feed = feed;
    this.#url = url;
  }

  /** @param heardMs of audio since the first byte of this session; "": it is not known yet @param nowMs monotonic */
  update(heardMs: number, session: string, nowMs: number): void {
    const sinceMs = nowMs - this.#sentMs;
    if (
      sinceMs < MIN_MS ||
      this.#refusals >= MAX_REFUSALS ||
      this.#feed.hasSaidTooMuch ||
      this.#feed.state !== 'connected'
    )
      return;
    if (sinceMs < MAX_MS && Math.abs(heardMs - this.#heardMs - sinceMs) < DRIFT_MS) return;
    this.#sentMs = nowMs;
    this.#heardMs = heardMs;
    const report = JSON.stringify({ heardMs: Math.round(heardMs), ...(session === '' ? {} : { session }) });
    if (this.#feed.canSend) this.#feed.send(report);
    else void this.#post(report);
  }

  async #post(body: string): Promise<void> {
    try {
      const headers = { 'Content-Type': 'application/json' };
      const { status } = await fetch(this.#url, { method: 'POST', headers, body });
      // 404 is also that of a session that has ended a moment ago.
      this.#refusals = status === 405 ? MAX_REFUSALS : status === 404 ? this.#refusals + 1 : 0;
    } catch {
      // The next one may get through.
    }
  }
}
