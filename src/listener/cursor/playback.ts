/**
 * A listener's player on one tape: what was written to it, and what it plays of that. Positions are milliseconds of audio in its stream, previous
 * tapes included.
 *
 *   tape       ├─── joinMs ──── heard ──── sentMs ─── live edge
 *   position      baseMs                                              position = audio time − joinMs + baseMs
 */

import type { AudioTape } from '../../audio/tape/audio-tape.js';
import type { Mark } from '../../audio/tape/mark.js';
import { type AudioSegment, inForceAt } from '../../audio/tape/segment.js';
import { PlayerClock } from '../player/player-clock.js';
import type { Session } from '../sessions/session.js';

export class Playback {
  readonly session: Session | null;
  /** The player's own clock, which its next tape takes over. */
  readonly player: PlayerClock;
  /** The position of its first byte from this tape. */
  readonly baseMs: number;
  /** Audio time of that byte on the tape; -1 before it was written. */
  joinMs = -1;
  /** Whether each write is reported to the player's clock; otherwise the clock is updated before it is read. */
  isFollowed: boolean;
  readonly #tape: AudioTape;
  /** Audio time on the tape up to which audio was written. */
  #sentMs = 0;

  /** @param player of the same listener on its previous tape */
  constructor(tape: AudioTape, session: Session | null, player = session?.player ?? new PlayerClock()) {
    this.#tape = tape;
    this.session = session;
    this.player = player;
    this.baseMs = player.writtenMs;
    this.isFollowed = session !== null;
  }

  /** A segment was written. @param entryMs audio time of its first byte, if the listener begins with it */
  wrote(segment: AudioSegment, entryMs: number, bytes: number, nowMs: number): void {
    const first = this.joinMs < 0;
    if (first) {
      this.joinMs = entryMs;
      if (this.baseMs === 0) this.player.begin(nowMs);
    }
    this.#sentMs = segment.endMs;
    if (!this.isFollowed) return;
    this.player.write(this.#positionOf(segment.endMs), bytes, nowMs);
    if (this.session !== null) this.#progress(this.session, segment, first, nowMs);
  }

  /** Updates the player's clock before it is read, or after a stall: writes that are not followed leave it alone. */
  catchUp(nowMs: number): void {
    if (!this.isFollowed && this.joinMs >= 0) this.player.catchUp(this.#positionOf(this.#sentMs), nowMs);
  }

  /** Audio that the player has still to play, milliseconds. */
  aheadMs(nowMs: number): number {
    this.catchUp(nowMs);
    return this.player.aheadMs(nowMs);
  }

  /** How far behind the live edge the player is, milliseconds of audio; at most the tape's lag, as a player may report a pause of hours. */
  heardLagMs(nowMs: number): number {
    this.catchUp(nowMs);
    const { endMs, lagMs } = this.#tape;
    return Math.min(lagMs, this.#positionOf(endMs) - this.player.positionAt(nowMs));
  }

  /** The title that the player plays, if the tape still has that place; null: none. */
  heardMark(nowMs: number): Mark | null {
    if (this.joinMs < 0) return null;
    const { endMs, head, tail } = this.#tape;
    const atMs = endMs - this.heardLagMs(nowMs);
    for (let seq = head - 1; seq >= tail; seq--) {
      const segment = this.#tape.at(seq)!;
      if (segment.startMs <= atMs) return inForceAt(segment, atMs);
    }
    return this.#tape.at(tail)?.before ?? null;
  }

  /** Position in its stream of an audio time on the tape. */
  #positionOf(atMs: number): number {
    return atMs - this.joinMs + this.baseMs;
  }

  /** Reports to the session the titles that take effect in the segment, and that there is more to hear. */
  #progress(session: Session, segment: AudioSegment, first: boolean, nowMs: number): void {
    const joinMs = this.joinMs;
    if (first) session.begin(joinMs, inForceAt(segment, joinMs), nowMs, this.baseMs);
    for (const { mark, atMs } of segment.marks) if (!first || atMs > joinMs) session.written(mark, atMs, nowMs);
    session.release(nowMs);
  }
}
