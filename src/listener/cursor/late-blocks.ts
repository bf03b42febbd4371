/**
 * The ICY blocks of a listener whose player shows a title when it reads it, not when it plays that place: they are sent later, by the audio that
 * the player has read ahead (src/listener/README.md, "Players that show what they read"). Its audio stays in the shared buffers:
 *
 *   shared   │ audio │0│ audio │0│ audio │0│ audio │0│      no new title
 *   slices   └───────┘ ⟨block⟩ └─────────────────────┘      of a write in which a title is due
 *
 * Invariant: titles are sent in the order of the tape, none before its place. Owned by one listener.
 */

import type { Mark, PlacedMark } from '../../audio/tape/mark.js';
import { type AudioSegment, inForceAt } from '../../audio/tape/segment.js';
import { type Alarm, type AlarmHandler, type Clock, TICK_MS } from '../../base/clock.js';
import { BLOCK_UNIT_BYTES } from '../../metadata/title.js';
import type { PlayerClock } from '../player/player-clock.js';

/** Writes are a second apart: a write takes the titles that are due within half a second. */
const HALF_TURN_MS = 500;
/** While a title is due within this time, a segment is kept back to carry it. Not if the player has less than `ENOUGH_MS` to play. */
const RESERVE_MS = 2500;
const ENOUGH_MS = 1500;
const NO_CHANGE = Buffer.alloc(1);

export class LateBlocks implements AlarmHandler {
  readonly #aheadMs: number;
  readonly #metaint: number;
  readonly #player: PlayerClock;
  readonly #clock: Clock;
  readonly #onDue: (nowMs: number) => void;
  /** Titles of written segments that no block has carried yet. */
  readonly #waiting: PlacedMark[] = [];
  /** The last block with a title. */
  #said: Buffer | undefined;
  /** Audio time on the tape of position 0 of the listener's stream. */
  #zeroMs = 0;
  #alarm: Alarm | null = null;

  /**
   * @param aheadMs audio that the player reads ahead; +∞: all that it is sent
   * @param onDue called when a title is due, to write the reserve
   */
  constructor(aheadMs: number, metaint: number, player: PlayerClock, clock: Clock, onDue: (nowMs: number) => void) {
    this.#aheadMs = aheadMs;
    this.#metaint = metaint;
    this.#player = player;
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** How many segments to hold back for a title that is due soon: 0 or 1. */
  reserve(nowMs: number): number {
    const title = this.#waiting[0];
    if (title === undefined || !this.#isReadAtOnce(nowMs)) return 0;
    const waitMs = this.#waitMs(title, nowMs);
    return waitMs > 0 && waitMs <= RESERVE_MS ? 1 : 0;
  }

  /** The first segment, with the title in force at the listener's first byte; later ones wait. @param shared with all its titles */
  first(shared: Buffer, segment: AudioSegment, nowMs: number): readonly Buffer[] | null {
    const { entryMs } = segment;
    this.#zeroMs = entryMs - this.#player.writtenMs;
    const mark = inForceAt(segment, entryMs);
    this.#said = mark?.block;
    for (const placed of segment.marks) if (placed.atMs > entryMs) this.#waiting.push(placed);
    return this.#slices(shared, segment, nowMs, mark);
  }

  /**
   * The next segment in slices, with the titles that are due. Null: none is due, `shared` can be sent as it is.
   * @param shared with empty blocks
   */
  next(shared: Buffer, segment: AudioSegment, nowMs: number): readonly Buffer[] | null {
    for (const placed of segment.marks) this.#waiting.push(placed);
    return this.#waiting.length === 0 ? null : this.#slices(shared, segment, nowMs);
  }

  onAlarm(nowMs: number): void {
    this.#alarm = null;
    this.#onDue(nowMs);
  }

  /** The listener has ended. */
  stop(): void {
    this.#alarm?.cancel();
  }

  /** @param first the title of the first block, due or not */
  #slices(
    shared: Buffer,
    { startMs, endMs, bytes }: AudioSegment,
    nowMs: number,
    first?: Mark | null,
  ): readonly Buffer[] | null {
    const slices: Buffer[] = [];
    const blockMs = ((endMs - startMs) * (this.#metaint + 1)) / bytes.length;
    let from = 0;
    let at = 0;
    for (let block = 1; at < shared.length; block++) {
      at += this.#metaint;
      const lengthBytes = 1 + shared[at]! * BLOCK_UNIT_BYTES;
      const isFirst = block === 1 && first !== undefined;
      const said = (isFirst ? first : this.#takeDue(nowMs, startMs + (block + 0.5) * blockMs))?.block;
      const isNew = said !== undefined && (isFirst || said !== this.#said);
      if (isNew || lengthBytes > 1) {
        slices.push(shared.subarray(from, at), isNew ? said : NO_CHANGE);
        from = at + lengthBytes;
      }
      if (isNew) this.#said = said;
      at += lengthBytes;
    }
    this.#setAlarm(nowMs);
    if (slices.length === 0) return null;
    slices.push(shared.subarray(from));
    return slices;
  }

  /**
   * Removes the titles that are due and returns the last: of two titles for one block the later one counts.
   * @param untilMs half a block after a block's place on the tape
   */
  #takeDue(nowMs: number, untilMs: number): Mark | null {
    const soonMs = this.#isReadAtOnce(nowMs) ? TICK_MS : HALF_TURN_MS;
    let due: Mark | null = null;
    for (let title = this.#waiting[0]; title !== undefined; title = this.#waiting[0]) {
      if (title.atMs + this.#aheadMs > untilMs && this.#waitMs(title, nowMs) > soonMs) break;
      due = title.mark;
      this.#waiting.shift();
    }
    return due;
  }

  /** Time until the player plays the title's place. */
  #waitMs({ atMs }: PlacedMark, nowMs: number): number {
    return atMs - this.#zeroMs - this.#player.positionAt(nowMs);
  }

  /** Whether the player reads all that it is sent, and has enough to play that a segment may be kept back. */
  #isReadAtOnce(nowMs: number): boolean {
    const holdsMs = this.#player.writtenMs - this.#player.positionAt(nowMs);
    return holdsMs >= ENOUGH_MS && holdsMs < this.#aheadMs;
  }

  /** If the player stalls meanwhile, the alarm is early and finds nothing due. */
  #setAlarm(nowMs: number): void {
    this.#alarm?.cancel();
    const title = this.#waiting[0];
    this.#alarm = title === undefined ? null : this.#clock.alarm(nowMs + this.#waitMs(title, nowMs), this);
  }
}
