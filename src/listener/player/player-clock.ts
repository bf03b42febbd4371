/**
 * The position of a player that plays in real time from its first audio, never past what it has received:
 *
 *   position   0 ──── heard ──── acknowledged ──── written        heard = now − start
 *
 * A player that runs dry does not catch up: the start is moved later by exactly the silence. For a while after a player's report only reports
 * count. Each listener has a clock; with a metaid it shares it with its session. Pure: the time is passed in.
 */

/** How long a report overrides what is inferred. */
const REPORT_MS = 10_000;

export class PlayerClock {
  /** The player can use what it receives in whole blocks of this size, bytes. */
  readonly blockBytes: number;
  /** When it would have played its first byte without the silences since. */
  #startMs = 0;
  /** Position of the last byte written, and of the last whole block (`usable`). */
  #writtenMs = 0;
  #writtenBytes = 0;
  #usableMs = 0;
  /** The position acknowledged at the last sample of its connection. */
  #hadMs = Number.POSITIVE_INFINITY;
  /** Until when to wait for the next sample. */
  #hadUntilMs = Number.NEGATIVE_INFINITY;
  #trustedUntilMs = Number.NEGATIVE_INFINITY;
  #hasReported = false;

  constructor(blockBytes = 1) {
    this.blockBytes = blockBytes;
  }

  /** Position of the last byte written. */
  get writtenMs(): number {
    return this.#writtenMs;
  }

  /** The first audio byte of its connection is written. */
  begin(nowMs: number): void {
    this.#startMs = nowMs;
    this.#trustedUntilMs = Number.NEGATIVE_INFINITY;
    this.#hasReported = false;
  }

  /** Audio that it has still to play, milliseconds. */
  aheadMs(nowMs: number): number {
    return this.#writtenMs - this.positionAt(nowMs);
  }

  /** Audio was written, up to this position. @param bytes how much */
  write(positionMs: number, bytes: number, nowMs: number): void {
    this.limit(this.#usableMs, nowMs);
    this.#writtenBytes += bytes;
    const rest = this.#writtenBytes % this.blockBytes;
    if (rest < bytes) this.#usableMs = positionMs - ((positionMs - this.#writtenMs) * rest) / bytes;
    this.#writtenMs = positionMs;
  }

  /** As `write`, for a player whose silences need not be known exactly. */
  catchUp(positionMs: number, nowMs: number): void {
    this.#writtenMs = this.#usableMs = positionMs;
    this.limit(positionMs, nowMs);
  }

  /** The player cannot have been past this position at this moment. */
  limit(positionMs: number, atMs: number): void {
    if (atMs >= this.#trustedUntilMs) this.#startMs = Math.max(this.#startMs, atMs - positionMs);
  }

  /** The position acknowledged at a sample of its connection; the next sample is before `untilMs`. */
  had(positionMs: number, untilMs: number): void {
    this.#hadMs = positionMs;
    this.#hadUntilMs = untilMs;
  }

  /** The player reports its position. False: impossible. */
  report(heardMs: number, nowMs: number): boolean {
    if (heardMs < 0 || heardMs > Math.ceil(this.#writtenMs)) return false;
    this.#startMs = nowMs - heardMs;
    this.#trustedUntilMs = nowMs + REPORT_MS;
    this.#hasReported = true;
    return true;
  }

  /** The probable position of a player that has not reported yet. */
  estimate(positionMs: number, nowMs: number): void {
    if (!this.#hasReported) this.#startMs = nowMs - positionMs;
  }

  /** The position that it plays now. */
  positionAt(nowMs: number): number {
    const maxMs = nowMs < this.#trustedUntilMs ? this.#writtenMs : this.#usableMs;
    return Math.max(0, Math.min(nowMs - this.#startMs, maxMs));
  }

  /** When to check next whether the player has reached this position: not after `nowMs` if it has; +∞: once more is written. */
  dueMs(positionMs: number, nowMs: number): number {
    const dueMs = this.#startMs + positionMs;
    if (nowMs < this.#trustedUntilMs) return dueMs;
    if (positionMs > this.#usableMs) return Number.POSITIVE_INFINITY;
    return positionMs > this.#hadMs && nowMs < this.#hadUntilMs ? Math.max(dueMs, this.#hadUntilMs) : dueMs;
  }
}
