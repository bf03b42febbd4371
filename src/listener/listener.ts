/**
 * A listener: a cursor on a tape and a socket. It has no queue: what its socket has not taken yet stays on the tape, and its
 * lag is a subtraction. `advance` is the hot path: it writes shared buffers.
 *
 * Every listener with ICY begins at a segment's first byte (entry.ts makes a whole frame or a tag of what stands there), so every block
 * that it is owed falls where the segment has one, and the shared renderings are right for it from its first byte. (Of Ogg each has a
 * rendering of its own until its first link ends, and all along with ICY;
 * players that show a title when they read it get late blocks.) Owned by the audience.
 */

import type { Socket } from 'node:net';
import type { AudioTape, Rendering } from '../audio/audio-tape.js';
import type { Mark } from '../audio/mark.js';
import { type AudioSegment, inForceAt } from '../audio/segment.js';
import type { Ending } from './ending.js';
import type { LateBlocks } from './late-blocks.js';
import { PlayerClock } from './player-clock.js';
import type { Session } from './sessions.js';

/**
 * At most about this much is handed to the socket in one go; the rest stays on the tape until it is taken. Writes are a second
 * apart, so this is also the fastest that a listener catches up: 2 Mb/s, whatever the metaint.
 */
const MOST_BYTES_AT_ONCE = 256 * 1024;

export class Listener {
  readonly socket: Socket;
  readonly channel: string;
  readonly icy: boolean;
  readonly startedMs: number;
  /** The segment with which it began (or will, if it has an entry), and the next one to be written. */
  firstSeq: number;
  cursor: number;
  /** Place in its slot of the audience, for removal in constant time. */
  slot = -1;
  place = -1;
  bytes = 0;
  /** Ends it; set by the audience that owns it. Idempotent. */
  end: (ending: Ending) => void = () => undefined;
  /** Where its player is. */
  readonly player: PlayerClock;
  readonly session: Session | null;
  /** Audio time of its first byte on the tape; -1 before it was written. */
  joinMs = -1;
  /** Its blocks, where its player shows titles when it reads them: set before `start`, and on a tape that gives it no phase. */
  late: LateBlocks | null = null;
  readonly #tape: AudioTape;
  readonly #mostAtOnce: number;
  /** The last late title that it was sent in a segment that was closed when it came. */
  #late: Mark | null = null;
  /** Null: it is sent what all are. */
  #rendering: Rendering | null;

  constructor(
    socket: Socket,
    tape: AudioTape,
    channel: string,
    cursor: number,
    icy: boolean,
    session: Session | null,
    nowMs: number,
  ) {
    this.socket = socket;
    this.#tape = tape;
    this.#mostAtOnce = Math.ceil(MOST_BYTES_AT_ONCE / tape.segmentBytes);
    this.channel = channel;
    this.firstSeq = cursor;
    this.cursor = cursor;
    this.icy = icy;
    this.#rendering = tape.rendering(icy);
    this.session = session;
    this.player = session?.player ?? new PlayerClock();
    this.startedMs = nowMs;
  }

  /** Whether it is sent what all are, whose blocks stand where the segments have them. */
  get isShared(): boolean {
    return this.#rendering === null;
  }

  /** Its distance from the live edge, milliseconds of audio. */
  get lagMs(): number {
    const segment = this.#tape.at(this.cursor);
    return segment === undefined ? 0 : this.#tape.edgeMs - segment.startMs;
  }

  /**
   * How much later than the live edge its player hears, milliseconds of audio, at most what the tape keeps: one that reports that it stands still
   * would be hours behind, and readers with it. Once it has begun.
   */
  heardLagMs(nowMs: number): number {
    this.catchUp(nowMs);
    const { endMs, lagMs } = this.#tape;
    return Math.min(lagMs, endMs - this.joinMs - this.player.positionAt(nowMs));
  }

  /** Before its player is asked, and where writes have stood still: the clock of one without a metaid costs nothing with each write. */
  catchUp(nowMs: number): void {
    const last = this.#tape.at(this.cursor - 1);
    if (!this.#isFollowed && last !== undefined) this.player.catchUp(last.endMs - this.joinMs, nowMs);
  }

  /** Whether its player's clock knows of each write. */
  get #isFollowed(): boolean {
    return this.session !== null || this.late !== null;
  }

  /** The head of the answer, and with it, in one go, the burst that lies on the tape. */
  start(head: Buffer, nowMs: number): void {
    this.socket.cork();
    this.socket.write(head);
    this.#writeDue(nowMs);
    this.socket.uncork();
  }

  /** Why its cursor is off the tape, once it is. */
  get fallen(): Ending {
    return this.#tape.isOver ? 'format' : 'lagged';
  }

  /** Writes what is due, if the socket has taken all that it was given. False: the cursor has fallen off the tape. */
  advance(nowMs: number): boolean {
    if (this.cursor < this.#tape.tail) return false;
    if (this.socket.writableLength === 0) this.#writeDue(nowMs);
    return true;
  }

  /** The last bytes of a polite ending: what is missing of the frame that its last segment cut. */
  finish(): void {
    if (this.joinMs < 0) return;
    this.#send(this.#tape.rest(this.cursor, this.icy));
  }

  #writeDue(nowMs: number): void {
    const there = this.#tape.head - this.cursor - (this.late?.reserve(nowMs) ?? 0);
    const due = Math.min(there, this.#mostAtOnce);
    if (due === 1) this.#write(nowMs);
    else if (due > 1) {
      if (this.joinMs >= 0) this.catchUp(nowMs);
      this.socket.cork();
      for (let i = 0; i < due; i++) this.#write(nowMs);
      this.socket.uncork();
    }
  }

  #write(nowMs: number): void {
    const segment = this.#tape.at(this.cursor++)!;
    const first = this.joinMs < 0;
    // No frame begins here with which a player could start.
    if (first && segment.entry < 0) {
      this.firstSeq = this.cursor;
      return;
    }
    const before = this.bytes;
    if (this.late !== null) this.#writeLate(this.late, segment, first, nowMs);
    else {
      const icy = this.icy;
      const shared = first ? segment.entered(icy) : icy ? segment.titledFor(this.#late) : segment.plain;
      if (this.#rendering === null) this.#send(shared);
      else this.#sendOwn(this.#rendering.next(shared, segment));
      if (this.#rendering?.isShared) this.#rendering = null;
      if (segment.late !== null) this.#late = segment.late;
    }
    if (first) {
      this.joinMs = segment.entryMs;
      this.player.begin(nowMs);
    }
    if (this.#isFollowed) this.player.write(segment.endMs - this.joinMs, this.bytes - before, nowMs);
    if (this.session !== null) this.#progress(this.session, segment, first, nowMs);
  }

  #writeLate(late: LateBlocks, segment: AudioSegment, first: boolean, nowMs: number): void {
    const shared = first ? segment.entered(true) : segment.bytes;
    const slices = first ? late.first(shared, segment, nowMs) : late.next(shared, segment, nowMs);
    if (slices === null) this.#send(shared);
    else this.#sendOwn(slices);
  }

  #sendOwn(pieces: readonly Buffer[]): void {
    this.socket.cork();
    for (let i = 0; i < pieces.length; i++) this.#send(pieces[i]!);
    this.socket.uncork();
  }

  #send(bytes: Buffer): void {
    this.bytes += bytes.length;
    this.socket.write(bytes);
  }

  /** What of the segment its session must know: the titles that take effect in it, each at its own place; and that there is more to hear. */
  #progress(session: Session, segment: AudioSegment, first: boolean, nowMs: number): void {
    const joinMs = this.joinMs;
    if (first) session.begin(joinMs, inForceAt(segment, joinMs), nowMs);
    for (const { mark, atMs } of segment.marks) if (!first || atMs > joinMs) session.written(mark, atMs, nowMs);
    session.release(nowMs);
  }
}
