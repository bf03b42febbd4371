/**
 * A listener: a cursor on a tape and a socket. It has no queue: what its socket has not taken yet stays on the tape, and its
 * lag is a subtraction. `advance` is the hot path: it writes shared buffers.
 *
 * Every listener with ICY begins at a segment's first byte (entry.ts makes a whole frame or a tag of what stands there), so every block
 * that it is owed falls where the segment has one, and the shared renderings are right for it from its first byte. (Of Ogg each has a
 * rendering of its own until its first link ends, and all along with ICY;
 * players that show a title when they read it get late blocks.) Owned by the audience, which writes to it each second or each two.
 */

import type { Socket } from 'node:net';
import type { AudioTape, Rendering } from '../../audio/tape/audio-tape.js';
import type { Mark } from '../../audio/tape/mark.js';
import type { Phase } from '../../audio/tape/phase.js';
import { type AudioSegment, inForceAt, NOTHING } from '../../audio/tape/segment.js';
import { bareOf } from '../../net/front/tracked-connection.js';
import { PlayerClock } from '../player/player-clock.js';
import type { Runs } from '../sessions/runs.js';
import type { Session } from '../sessions/sessions.js';
import type { Slotted } from '../sessions/slots.js';
import type { Ending } from './ending.js';
import type { LateBlocks } from './late-blocks.js';
import type { WriteSeconds } from './pace.js';

/**
 * For each second between two writes at most about this much is handed to the socket in one go; the rest stays on the tape until it is taken.
 * So this is also the fastest that a listener catches up: 2 Mb/s, whatever the metaint.
 */
const MAX_BYTES_PER_SECOND = 256 * 1024;

/**
 * What a listener may send after its request, bytes: room for requests ahead of their turn, and for TLS. A byte costs little, but 10 µs if it comes
 * in a TLS record of its own.
 */
export const MAX_RECEIVED_BYTES = 64 * 1024;

/** Who listens, as its request said. */
export interface ListenerClient {
  readonly mount: string;
  /** Proxies are already taken out. */
  readonly address: string;
  readonly agent: string;
  readonly referer: string;
}

export class Listener implements Slotted {
  readonly socket: Socket;
  readonly channel: string;
  readonly icy: boolean;
  readonly startedMs: number;
  /** The segment with which it began (or will, if it has an entry), and the next one to be written. */
  firstSeq: number;
  cursor: number;
  slot = -1;
  place = -1;
  /** Of this process; set by the audience, and so is who it is. */
  id = 0;
  client: ListenerClient | null = null;
  /** Between two writes to it; set by the audience. */
  writeSeconds: WriteSeconds = 1;
  /** Whether it begins so early that it can be written to each two seconds, once it has that audio. */
  hasMore = false;
  /** At most as much audio stays on the tape for now. */
  staysMs = 0;
  bytes = 0;
  /** Ends it; set by the audience that owns it. Idempotent. */
  end: (ending: Ending) => void = () => undefined;
  /** Gives its socket away, at the end of a segment; null: it has ended. Set by the audience, as is `move`. */
  release: () => { readonly bytes: number; readonly lastedMs: number; readonly cut: Buffer } | null = () => null;
  /** It goes on with the tape that its channel has now, or will once that has come. False: it cannot. Set by the audience. */
  onTapeOver: () => boolean = () => false;
  /** It goes on at another mount, by its path. False: it cannot. @param comesBack when its own has audio */
  move: (path: string, comesBack?: boolean) => boolean = () => false;
  /** Where its player is. */
  readonly player: PlayerClock;
  readonly session: Session | null;
  /** Audio time of its first byte on the tape; -1 before it was written. */
  joinMs = -1;
  /** The position of that byte in its stream: what its connection was sent of other tapes before, milliseconds. */
  readonly baseMs: number;
  /** Its blocks, where its player shows titles when it reads them: set before `start`, and on a tape that gives it no phase. */
  late: LateBlocks | null = null;
  /** Its player cannot go on in another format: it is ended before that. Set before `start`. */
  endsOnFormatChange = false;
  /** Its blocks, where they stand further apart than the segments have them: it is sent their audio alone. Set as `late` is. */
  phase: Phase | null = null;
  /** What is missing of the frame in which its stream stands, as it comes from another tape. Set before `start`. */
  cut: Buffer = NOTHING;
  /** The socket below TLS, which counts all bytes received. */
  readonly #bare: Socket;
  readonly #mostRead: number;
  /** Of its tape; null: it shares none. */
  runs: Runs | null = null;
  readonly #tape: AudioTape;
  /** Segments in one go, for each second between two writes. */
  readonly #mostPerSecond: number;
  /** Audio time on the tape up to which it was sent. */
  #sentMs = 0;
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
    player = session?.player ?? new PlayerClock(),
  ) {
    this.socket = socket;
    this.#bare = bareOf(socket);
    this.#mostRead = this.#bare.bytesRead + MAX_RECEIVED_BYTES;
    this.#tape = tape;
    this.#mostPerSecond = Math.ceil(MAX_BYTES_PER_SECOND / tape.segmentBytes);
    this.channel = channel;
    this.firstSeq = cursor;
    this.cursor = cursor;
    this.icy = icy;
    this.#rendering = tape.rendering(icy);
    this.session = session;
    this.player = player;
    this.baseMs = player.writtenMs;
    this.startedMs = nowMs;
  }

  /** Whether it is sent what all are, whose blocks stand where the segments have them. */
  get isShared(): boolean {
    return this.#rendering === null && this.phase === null;
  }

  /** Whether the blocks of the segments are its own. */
  get hasBlocks(): boolean {
    return this.icy && this.phase === null;
  }

  /** Whether it has sent more than MAX_RECEIVED_BYTES after its request. */
  get isFlooding(): boolean {
    return this.#bare.bytesRead > this.#mostRead;
  }

  /** Its distance from the live edge, milliseconds of audio. */
  get lagMs(): number {
    const segment = this.#tape.at(this.cursor);
    return segment === undefined ? 0 : this.#tape.edgeMs - segment.startMs;
  }

  /** The title that it was sent last; null: none. */
  get lastMark(): Mark | null {
    const segment = this.#tape.at(this.cursor - 1);
    return this.joinMs < 0 || segment === undefined ? null : inForceAt(segment, segment.endMs);
  }

  /**
   * How much later than the live edge its player hears, milliseconds of audio, at most what the tape keeps: one that reports that it stands still
   * would be hours behind, and readers with it. Once it has begun.
   */
  heardLagMs(nowMs: number): number {
    this.catchUp(nowMs);
    const { endMs, lagMs } = this.#tape;
    return Math.min(lagMs, this.#positionOf(endMs) - this.player.positionAt(nowMs));
  }

  /** The title at the place that its player plays, as far as the tape still has that; null: none. */
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

  /** Before its player is asked, and where writes have stood still: the clock of one without a metaid costs nothing with each write. */
  catchUp(nowMs: number): void {
    if (!this.#isFollowed && this.joinMs >= 0) this.player.catchUp(this.#positionOf(this.#sentMs), nowMs);
  }

  /** What its player has and has not played, milliseconds of audio. */
  aheadMs(nowMs: number): number {
    this.catchUp(nowMs);
    return this.player.aheadMs(nowMs);
  }

  /** The position in its stream of an audio time on the tape. */
  #positionOf(atMs: number): number {
    return atMs - this.joinMs + this.baseMs;
  }

  /** Whether its player's clock knows of each write. */
  get #isFollowed(): boolean {
    return this.session !== null || this.late !== null;
  }

  /**
   * The head of the answer, and with it, in one go, the burst that lies on the tape.
   */
  start(head: Buffer, nowMs: number): void {
    this.socket.cork();
    this.socket.write(head);
    this.#writeDue(nowMs);
    this.socket.uncork();
    if (this.socket.writableLength > 0) this.#tape.held();
  }

  /** Whether it was given all that there is. */
  get isAtEdge(): boolean {
    return this.cursor === this.#tape.head;
  }

  /** Whether another tape may have more of what its head has promised. */
  get isTapeOver(): boolean {
    return this.#tape.isOver;
  }

  /** Why it is not sent more, once `advance` has said so. */
  get fallen(): Ending {
    return this.#tape.isOver || this.#isAtEnd ? 'format' : 'lagged';
  }

  /** Writes what is due, if the socket has taken all that it was given. False: the cursor has fallen off the tape, or the format changes there. */
  advance(nowMs: number): boolean {
    if (this.cursor < this.#tape.tail || this.#isAtEnd) return false;
    const { socket } = this;
    if (socket.writableLength > 0) return true;
    this.#writeDue(nowMs);
    if (socket.writableLength > 0) this.#tape.held();
    return true;
  }

  /** The last bytes of a polite ending: what is missing of the frame that its last segment cut. */
  finish(): void {
    if (this.joinMs < 0) return;
    const { lastMark: mark, phase } = this;
    const rest = this.#tape.rest(this.cursor, this.hasBlocks);
    this.#send(phase?.splice(rest, { before: mark, mark, linkBytes: 0 }) ?? rest);
    this.#tape.held();
  }

  /** What is missing of the frame in which it stands: it goes on with it at another tape, which may be written over what this one has. */
  get missing(): Buffer {
    return this.joinMs < 0 ? this.cut : Buffer.from(this.#tape.rest(this.cursor, false));
  }

  get #isAtEnd(): boolean {
    return this.endsOnFormatChange && this.cursor >= this.#endSeq;
  }

  /** The segment in which the format changes: some of it is not what its player can take. +∞: none is known. */
  get #endSeq(): number {
    return this.#tape.fenceAfter(this.firstSeq) - 1;
  }

  #writeDue(nowMs: number): void {
    const stays = this.staysMs > 0 ? this.#staying() : (this.late?.reserve(nowMs) ?? 0);
    const { head } = this.#tape;
    const there = (this.endsOnFormatChange ? Math.min(head, this.#endSeq) : head) - this.cursor - stays;
    const due = Math.min(there, this.#mostPerSecond * this.writeSeconds);
    if (due === 1) this.#write(nowMs);
    else if (due > 1) {
      if (this.joinMs >= 0) this.catchUp(nowMs);
      if (this.runs?.isShared(due) && this.#isInRun(due)) {
        this.#writeRun(this.runs, due, nowMs);
        return;
      }
      const to = this.cursor + due;
      if (this.joinMs < 0 && this.#writeBurst(to, nowMs)) return;
      this.socket.cork();
      while (this.cursor < to) this.#write(nowMs);
      this.socket.uncork();
    }
  }

  /** False: it is not one that others are sent too. The cursor is behind segments with which none begins. */
  #writeBurst(to: number, nowMs: number): boolean {
    if (this.runs === null || !this.#isPlain || this.cut.length > 0) return false;
    // No frame begins there with which a player could start.
    while (this.cursor < to && this.#tape.at(this.cursor)!.entry < 0) this.firstSeq = ++this.cursor;
    if (this.cursor === to) return true;
    const bytes = this.runs.burst(this.cursor, to, this.icy);
    if (bytes === null) return false;
    this.#send(bytes);
    while (this.cursor < to) this.#written(this.#tape.at(this.cursor++)!, nowMs);
    return true;
  }

  /** It was sent the segment with others. */
  #written(segment: AudioSegment, nowMs: number): void {
    const first = this.joinMs < 0;
    if (first) {
      this.joinMs = segment.entryMs;
      if (this.baseMs === 0) this.player.begin(nowMs);
    }
    this.#sentMs = segment.endMs;
    if (this.session !== null) this.#follow(this.session, segment, first, nowMs);
    if (segment.late !== null) this.#late = segment.late;
  }

  /** Segments that stay on the tape. */
  #staying(): number {
    const tape = this.#tape;
    let seq = tape.head;
    while (seq > this.cursor && tape.edgeMs - tape.at(seq - 1)!.startMs <= this.staysMs) seq--;
    return tape.head - seq;
  }

  /** Whether it is sent the same as others that are due as many segments. */
  #isInRun(due: number): boolean {
    return this.#isPlain && this.joinMs >= 0 && this.cursor + due === this.#tape.head;
  }

  get #isPlain(): boolean {
    return this.isShared && this.late === null;
  }

  #writeRun(runs: Runs, due: number, nowMs: number): void {
    this.#send(runs.upToEdge(due, this.icy, this.#late));
    for (let i = 0; i < due; i++) this.#written(this.#tape.at(this.cursor++)!, nowMs);
  }

  #follow(session: Session, segment: AudioSegment, first: boolean, nowMs: number): void {
    const { length } = this.#bytesOf(segment, first);
    this.player.write(this.#positionOf(segment.endMs), length, nowMs);
    this.#progress(session, segment, first, nowMs);
  }

  #bytesOf(segment: AudioSegment, first: boolean): Buffer {
    if (first) return segment.entered(this.hasBlocks);
    return this.hasBlocks ? segment.titledFor(this.#late) : segment.plain;
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
    const behind = first && this.cut.length > 0 ? segment.enteredBehind(this.cut) : null;
    if (this.late !== null)
      this.#writeLate(this.late, segment, behind?.bytes ?? (first ? segment.entered(true) : null), nowMs);
    else {
      const shared = behind?.bytes ?? this.#bytesOf(segment, first);
      if (this.phase !== null) this.#send(this.phase.splice(shared, segment));
      else if (this.#rendering === null) this.#send(shared);
      else this.#sendOwn(this.#rendering.next(shared, segment));
      if (this.#rendering?.isShared) this.#rendering = null;
      if (segment.late !== null) this.#late = segment.late;
    }
    if (first) {
      this.joinMs = behind?.entryMs ?? segment.entryMs;
      this.cut = NOTHING;
      if (this.baseMs === 0) this.player.begin(nowMs);
    }
    this.#sentMs = segment.endMs;
    if (this.#isFollowed) this.player.write(this.#positionOf(segment.endMs), this.bytes - before, nowMs);
    if (this.session !== null) this.#progress(this.session, segment, first, nowMs);
  }

  /** @param entered its first segment; null: it is not the first */
  #writeLate(late: LateBlocks, segment: AudioSegment, entered: Buffer | null, nowMs: number): void {
    const { bytes } = segment;
    const slices = entered === null ? late.next(bytes, segment, nowMs) : late.first(entered, segment, nowMs);
    if (slices === null) this.#send(entered ?? bytes);
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
    if (first) session.begin(joinMs, inForceAt(segment, joinMs), nowMs, this.baseMs);
    for (const { mark, atMs } of segment.marks) if (!first || atMs > joinMs) session.written(mark, atMs, nowMs);
    session.release(nowMs);
  }
}
