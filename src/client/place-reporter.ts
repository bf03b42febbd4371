/**
 * Reports the player's position to the server, so that `sync=audio`, polling and statistics follow its stalls and its drift
 * (src/http/README.md, "Watching"). At most once a second, and every ten seconds while the player is where the last report implies.
 * A text frame by WebSocket, else a POST; none to a server that does not accept reports.
 */

import type { Follower } from './follower.js';

/** The shortest time between two reports. */
const MIN_MS = 1000;
/** The longest time between two reports. */
const MAX_MS = 10_000;
/** The tolerated difference from the position that the last report implies. */
const DRIFT_MS = 60;
const MAX_REFUSALS = 2;

export class PlaceReporter {
  readonly #feed: Follower | null;
  readonly #url: URL;
  /** Refusals in a row. */
  #refusals = 0;
  #sentMs = Number.NEGATIVE_INFINITY;
  #placeMs = 0;

  /** @param feed null: each report is a POST @param url for POSTs */
  constructor(feed: Follower | null, url: URL) {
    this.#feed = feed;
    this.#url = url;
  }

  /** @param placeMs the player's position, milliseconds from any origin @param report the same as a message @param nowMs monotonic */
  update(placeMs: number, report: Readonly<Record<string, unknown>>, nowMs: number): void {
    const sinceMs = nowMs - this.#sentMs;
    if (sinceMs < MIN_MS || this.#refusals >= MAX_REFUSALS || !this.#isOpen) return;
    if (sinceMs < MAX_MS && Math.abs(placeMs - this.#placeMs - sinceMs) < DRIFT_MS) return;
    this.#sentMs = nowMs;
    this.#placeMs = placeMs;
    const text = JSON.stringify(report);
    if (this.#feed?.canSend) this.#feed.send(text);
    else void this.#post(text);
  }

  get #isOpen(): boolean {
    return this.#feed === null || (this.#feed.state === 'connected' && !this.#feed.hasSaidTooMuch);
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
