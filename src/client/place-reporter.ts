/**
 * Reports the player's position to the server, so that `sync=audio`, polling and statistics follow its stalls and its drift
 * (src/http/README.md, "Watching"). At most once a second, and every ten seconds while the player is where the last report implies.
 * A text frame by WebSocket, else a POST; none to a server that does not accept reports.
 */

import type { Follower } from './follower.js';

/** Between two reports, at least. */
const MIN_MS = 1000;
/** Between two reports, at most. */
const MAX_MS = 10_000;
/** The tolerated difference from the position that the last report implies. */
const DRIFT_MS = 60;
const MAX_REFUSALS = 2;

export class PlaceReporter {
  readonly #feed: Follower;
  readonly #url: URL;
  /** Refusals in a row. */
  #refusals = 0;
  #sentMs = Number.NEGATIVE_INFINITY;
  #heardMs = 0;

  /** @param url for a POST */
  constructor(feed: Follower, url: URL) {
    this.#feed = feed;
    this.#url = url;
  }

  /** @param heardMs audio since the session's first byte @param session "": unknown yet @param nowMs monotonic */
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
      // 404 may also be that of a session that has just ended.
      this.#refusals = status === 405 ? MAX_REFUSALS : status === 404 ? this.#refusals + 1 : 0;
    } catch {
      // The next one may get through.
    }
  }
}
