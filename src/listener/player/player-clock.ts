/**
 * Where a player is that has played in real time since it could begin, and never further than what it can have:
 *
 *   position   0 ──── heard ──── acknowledged ──── written        heard = now − start
 *
 * What it had nothing of it cannot have played: the start moves to later moments by exactly the silence, and a player does not catch up. A player
 * that reports where it is knows better: for a while after a report only reports count.
 * Each listener has one; where it has a metaid, it is its session's too. Pure: it is given the time.
 */

/** How long after a report the player is taken at its word. */
const REPORT_MS = 10_000;

export class PlayerClock {
  /** The player can use what it receives in whole blocks of this size, bytes. */
  readonly blockBytes: number;
  /** When it played its first byte, or would have, without the silences since. */
  #startMs = 0;
  /** End of what is written, and of the whole blocks in it. */
  #writtenMs = 0;
  #writtenBytes = 0;
  #usableMs = 0;
  /** What the player certainly had at the last look at its connection, and until when that is worth waiting for a newer look. */
  #hadMs = Number.POSITIVE_INFINITY;
  #hadUntilMs = Number.NEGATIVE_INFINITY;
  #trustedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(blockBytes = 1) {
    this.blockBytes = blockBytes;
  }

  /** Position of the end of what is written. */
  get writtenMs(): number {
    return this.#writtenMs;
  }

  /** The first audio byte of its connection is written. */
  begin(nowMs: number): void {
    this.#startMs = nowMs;
    this.#trustedUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** What it has and has not played. */
  aheadMs(nowMs: number): number {
    return this.#writtenMs - this.positionAt(nowMs);
  }

  /** More is written, up to this position. @param bytes how much more */
  write(positionMs: number, bytes: number, nowMs: number): void {
    this.limit(this.#usableMs, nowMs);
    this.#writtenBytes += bytes;
    const rest = this.#writtenBytes % this.blockBytes;
    if (rest < bytes) this.#usableMs = positionMs - ((positionMs - this.#writtenMs) * rest) / bytes;
    this.#writtenMs = positionMs;
  }

  /** What was written meanwhile to a player whose silences nobody needs to know exactly: it is at most there. */
  catchUp(positionMs: number, nowMs: number): void {
    this.#writtenMs = this.#usableMs = positionMs;
    this.limit(positionMs, nowMs);
  }

  /** The player cannot have been further than this position at this moment. */
  limit(positionMs: number, atMs: number): void {
    if (atMs >= this.#trustedUntilMs) this.#startMs = Math.max(this.#startMs, atMs - positionMs);
  }

  /** What it had at a look at its connection; another look comes before `untilMs`. */
  had(positionMs: number, untilMs: number): void {
    this.#hadMs = positionMs;
    this.#hadUntilMs = untilMs;
  }

  /** The player says where it is. False: it cannot be there. */
  report(heardMs: number, nowMs: number): boolean {
    if (heardMs < 0 || heardMs > Math.ceil(this.#writtenMs)) return false;
    this.#startMs = nowMs - heardMs;
    this.#trustedUntilMs = nowMs + REPORT_MS;
    return true;
  }

  /** What it hears now. */
  positionAt(nowMs: number): number {
    const mostMs = nowMs < this.#trustedUntilMs ? this.#writtenMs : this.#usableMs;
    return Math.max(0, Math.min(nowMs - this.#startMs, mostMs));
  }

  /** When it is to be asked again whether the player has reached this position: not after `nowMs` where it has; +∞: when more is written. */
  dueMs(positionMs: number, nowMs: number): number {
    const dueMs = this.#startMs + positionMs;
    if (nowMs < this.#trustedUntilMs) return dueMs;
    if (positionMs > this.#usableMs) return Number.POSITIVE_INFINITY;
    return positionMs > this.#hadMs && nowMs < this.#hadUntilMs ? Math.max(dueMs, this.#hadUntilMs) : dueMs;
  }
}
