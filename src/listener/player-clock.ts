/**
 * Where a player is that has played in real time since it could begin, and never further than what it has:
 *
 *   position   0 ──────────── heard ─────────── written        heard = now − start, at most `written`
 *
 * Invariant: the start only moves to later moments: a player that had nothing to play has stood still, and does not catch up.
 * Each listener has one; where it has a metaid, it is its session's too.
 */

export class PlayerClock {
  /** When it played its first byte, or would have with the pauses that it has made since. */
  #startMs = 0;
  #writtenMs = 0;

  /** Its first audio byte is written. */
  begin(nowMs: number): void {
    this.#startMs = nowMs;
  }

  /** Position of the end of what is written. */
  get writtenMs(): number {
    return this.#writtenMs;
  }

  /** Audio up to this position is written; late audio means that the player has stood still. */
  write(positionMs: number, nowMs: number): void {
    this.#writtenMs = positionMs;
    this.#limit(positionMs, nowMs);
  }

  /** The player has not acknowledged the last `unsentMs` of audio that are written: they cannot have been heard. */
  stick(unsentMs: number, nowMs: number): void {
    this.#limit(this.#writtenMs - unsentMs, nowMs);
  }

  /** What it hears now. */
  positionAt(nowMs: number): number {
    return Math.min(nowMs - this.#startMs, this.#writtenMs);
  }

  /** When it hears this position, if nothing stops it. */
  dueMs(positionMs: number): number {
    return this.#startMs + positionMs;
  }

  /** The player cannot be further than this. */
  #limit(positionMs: number, nowMs: number): void {
    const lateMs = nowMs - this.#startMs - positionMs;
    if (lateMs > 0) this.#startMs += lateMs;
  }
}
