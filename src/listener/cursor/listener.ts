/**
 * A listener: a cursor on a tape and a socket. It has no queue: what its socket has not taken yet stays on the tape, and its
 * lag is a subtraction. `advance` is the hot path: it writes shared buffers.
 *
 * Every listener with ICY begins at a segment's first byte (audio/tape/entry.ts puts a whole frame or a tag there), so its blocks are due exactly
 * where the segments have theirs, and it can be sent the shared renderings from its first byte. Exceptions: in Ogg a listener has a rendering of
 * its own until its first link ends, with ICY for good; players that show a title when they read it get late blocks. Owned by the audience.
 */

import type { Socket } from 'node:net';
import type { AudioTape, Rendering } from '../../audio/tape/audio-tape.js';
import type { Mark } from '../../audio/tape/mark.js';
import type { Phase } from '../../audio/tape/phase.js';
import { type AudioSegment, inForceAt, NOTHING } from '../../audio/tape/segment.js';
import { PlayerClock } from '../player/player-clock.js';
import type { Runs } from '../sessions/runs.js';
import type { Session } from '../sessions/session.js';
import type { Slotted } from '../sessions/slots.js';
import type { Ending } from './ending.js';
import type { LateBlocks } from './late-blocks.js';
import { ListenerSocket } from './listener-socket.js';
import type { ListenerClient, ListenerOwner, ListenerStart } from './listener-start.js';
import type { WriteSeconds } from './pace.js';

/** Handed to the socket in one go at most, for each second between two writes: a listener catches up at 2 Mb/s. */
const MAX_BYTES_PER_SECOND = 256 * 1024;

export class Listener implements Slotted {
  readonly channel: string;
  readonly icy: boolean;
  readonly startedMs: number;
  /** The segment with which it began (or will, if that has an entry), and the next one to be written. */
  firstSeq: number;
  cursor: number;
  slot = -1;
  index = -1;
  readonly id: number;
  readonly client: ListenerClient | null;
  /** Between two writes; set by the audience. */
  writeSeconds: WriteSeconds = 1;
  readonly maxWriteSeconds: WriteSeconds;
  heldBackMs: number;
  bytes = 0;
  /** Null: it has not joined an audience yet. */
  owner: ListenerOwner | null = null;
  /** Where its player is. */
  readonly player: PlayerClock;
  readonly session: Session | null;
  /** Audio time of its first byte on the tape; -1 before it was written. */
  joinMs = -1;
  /** The position of that byte in its stream: the audio that its connection was sent from other tapes, milliseconds. */
  readonly baseMs: number;
  /** Places its blocks if its player shows titles when it reads them. Set before `start`; never with `phase`. */
  late: LateBlocks | null = null;
  readonly endsOnFormatChange: boolean;
  readonly phase: Phase | null;
  cut: Buffer;
  readonly #output: ListenerSocket;
  /** Null: none. */
  runs: Runs | null;
  readonly #tape: AudioTape;
  /** Segments written in one go at most, for each second between two writes. */
  readonly #segmentsPerSecond: number;
  /** Audio time on the tape up to which it was written. */
  #sentMs = 0;
  /** The last title it was sent that came after its segment was closed. */
  #lateMark: Mark | null = null;
  /** Of Ogg; null: it is sent the shared buffers. */
  #rendering: Rendering | null;

  constructor(socket: Socket, tape: AudioTape, start: ListenerStart) {
    const { cursor, icy, session, player = session?.player ?? new PlayerClock() } = start;
    this.#output = new ListenerSocket(socket);
    this.#tape = tape;
    this.#segmentsPerSecond = Math.ceil(MAX_BYTES_PER_SECOND / tape.segmentBytes);
    this.channel = start.channel;
    this.firstSeq = cursor;
    this.cursor = cursor;
    this.icy = icy;
    this.#rendering = tape.rendering(icy);
    this.session = session;
    this.player = player;
    this.baseMs = player.writtenMs;
    this.startedMs = start.nowMs;
    this.id = start.id ?? 0;
    this.client = start.client ?? null;
    this.runs = start.runs ?? null;
    this.maxWriteSeconds = start.maxWriteSeconds ?? 1;
    this.heldBackMs = start.heldBackMs ?? 0;
    this.phase = start.phase ?? null;
    this.cut = start.cut ?? NOTHING;
    this.endsOnFormatChange = start.endsOnFormatChange ?? false;
  }

  get socket(): Socket {
    return this.#output.socket;
  }

  /** See ListenerOwner. */
  end(ending: Ending): void {
    this.owner?.end(ending);
  }

  move(path: string, comesBack = false): boolean {
    return this.owner?.move(path, comesBack) ?? false;
  }

  /** Whether it is sent the segments' own blocks, or none. */
  get isShared(): boolean {
    return this.#rendering === null && this.phase === null;
  }

  /** Whether its blocks are those of the segments. */
  get hasBlocks(): boolean {
    return this.icy && this.phase === null;
  }

  /** Whether it has sent more than MAX_RECEIVED_BYTES after its request. */
  get isFlooding(): boolean {
    return this.#output.isFlooding;
  }

  /** Its distance from the live edge, milliseconds of audio. */
  get lagMs(): number {
    const segment = this.#tape.at(this.cursor);
    return segment === undefined ? 0 : this.#tape.edgeMs - segment.startMs;
  }

  /** The last title it was sent; null: none. */
  get lastMark(): Mark | null {
    const segment = this.#tape.at(this.cursor - 1);
    return this.joinMs < 0 || segment === undefined ? null : inForceAt(segment, segment.endMs);
  }

  /** How far behind the live edge its player is, milliseconds of audio; at most the tape's lag, as a player may report a pause of hours. */
  heardLagMs(nowMs: number): number {
    this.catchUp(nowMs);
    const { endMs, lagMs } = this.#tape;
    return Math.min(lagMs, this.#positionOf(endMs) - this.player.positionAt(nowMs));
  }

  /** The title that its player plays, if the tape still has that place; null: none. */
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

  /** Updates the player's clock before it is read, or after a stall: without a metaid, writes leave it alone. */
  catchUp(nowMs: number): void {
    if (!this.#isFollowed && this.joinMs >= 0) this.player.catchUp(this.#positionOf(this.#sentMs), nowMs);
  }

  /** What its player has still to play, milliseconds of audio. */
  aheadMs(nowMs: number): number {
    this.catchUp(nowMs);
    return this.player.aheadMs(nowMs);
  }

  /** Position in its stream of an audio time on the tape. */
  #positionOf(atMs: number): number {
    return atMs - this.joinMs + this.baseMs;
  }

  /** Whether each write is reported to its player's clock. */
  get #isFollowed(): boolean {
    return this.session !== null || this.late !== null;
  }

  /** Writes the response head and the burst in one go. */
  start(head: Buffer, nowMs: number): void {
    this.socket.cork();
    this.socket.write(head);
    this.#writeDue(nowMs);
    this.socket.uncork();
    if (this.socket.writableLength > 0) this.#tape.held();
  }

  /** Whether everything on the tape was written. */
  get isAtEdge(): boolean {
    return this.cursor === this.#tape.head;
  }

  /** Whether its tape has ended; the channel may have another. */
  get isTapeOver(): boolean {
    return this.#tape.isOver;
  }

  /** The ending, after `advance` has returned false. */
  get endingReason(): Ending {
    return this.#tape.isOver || this.#isAtEnd ? 'format' : 'lagged';
  }

  /** Writes what is due if the socket's buffer is empty. False: the cursor fell off the tape, or the format changes there. */
  advance(nowMs: number): boolean {
    if (this.cursor < this.#tape.tail || this.#isAtEnd) return false;
    const { socket } = this;
    if (socket.writableLength > 0) return true;
    this.#writeDue(nowMs);
    if (socket.writableLength > 0) this.#tape.held();
    return true;
  }

  /** The last bytes of a polite ending: the rest of the frame that its last segment cut. */
  finish(): void {
    if (this.joinMs < 0) return;
    const { lastMark: mark, phase } = this;
    const rest = this.#tape.rest(this.cursor, this.hasBlocks);
    this.#send(phase?.splice(rest, { before: mark, mark, linkBytes: 0 }) ?? rest);
    this.#tape.held();
  }

  /** A copy of the rest of the frame that its last segment cut, for its next tape. */
  get frameRest(): Buffer {
    return this.joinMs < 0 ? this.cut : Buffer.from(this.#tape.rest(this.cursor, false));
  }

  get #isAtEnd(): boolean {
    return this.endsOnFormatChange && this.cursor >= this.#endSeq;
  }

  /** The segment in which the format changes. +∞: none is known. */
  get #endSeq(): number {
    return this.#tape.fenceAfter(this.firstSeq) - 1;
  }

  #writeDue(nowMs: number): void {
    const stays = this.heldBackMs > 0 ? this.#heldBackSegments() : (this.late?.reserve(nowMs) ?? 0);
    const { head } = this.#tape;
    const there = (this.endsOnFormatChange ? Math.min(head, this.#endSeq) : head) - this.cursor - stays;
    const due = Math.min(there, this.#segmentsPerSecond * this.writeSeconds);
    if (due === 1) this.#write(nowMs);
    else if (due > 1) {
      if (this.joinMs >= 0) this.catchUp(nowMs);
      if (this.runs?.isShared(due) && this.#fitsRun(due)) {
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

  /** False: its burst is not shared. Skips segments in which no frame begins. */
  #writeBurst(to: number, nowMs: number): boolean {
    if (this.runs === null || !this.#isUniform || this.cut.length > 0) return false;
    while (this.cursor < to && this.#tape.at(this.cursor)!.entry < 0) this.firstSeq = ++this.cursor;
    if (this.cursor === to) return true;
    const bytes = this.runs.burst(this.cursor, to, this.icy);
    if (bytes === null) return false;
    this.#send(bytes);
    while (this.cursor < to) this.#wroteShared(nowMs);
    return true;
  }

  /** The next segment was written in a shared buffer. */
  #wroteShared(nowMs: number): void {
    const segment = this.#tape.at(this.cursor++)!;
    const bytes = this.#isFollowed ? this.#bytesOf(segment, this.joinMs < 0).length : 0;
    this.#wrote(segment, segment.entryMs, bytes, nowMs);
  }

  /** @param entryMs audio time of its first byte, if the listener begins with this segment @param bytes written */
  #wrote(segment: AudioSegment, entryMs: number, bytes: number, nowMs: number): void {
    const first = this.joinMs < 0;
    if (first) {
      this.joinMs = entryMs;
      if (this.baseMs === 0) this.player.begin(nowMs);
    }
    this.#sentMs = segment.endMs;
    if (segment.late !== null) this.#lateMark = segment.late;
    if (this.#isFollowed) this.player.write(this.#positionOf(segment.endMs), bytes, nowMs);
    if (this.session !== null) this.#progress(this.session, segment, first, nowMs);
  }

  /** How many segments are kept back. */
  #heldBackSegments(): number {
    const tape = this.#tape;
    let seq = tape.head;
    while (seq > this.cursor && tape.edgeMs - tape.at(seq - 1)!.startMs <= this.heldBackMs) seq--;
    return tape.head - seq;
  }

  /** Whether others that are due as many segments are sent the same. */
  #fitsRun(due: number): boolean {
    return this.#isUniform && this.joinMs >= 0 && this.cursor + due === this.#tape.head;
  }

  get #isUniform(): boolean {
    return this.isShared && this.late === null;
  }

  #writeRun(runs: Runs, due: number, nowMs: number): void {
    this.#send(runs.upToEdge(due, this.icy, this.#lateMark));
    for (let i = 0; i < due; i++) this.#wroteShared(nowMs);
  }

  #bytesOf(segment: AudioSegment, first: boolean): Buffer {
    if (first) return segment.entered(this.hasBlocks);
    return this.hasBlocks ? segment.titledFor(this.#lateMark) : segment.plain;
  }

  #write(nowMs: number): void {
    const segment = this.#tape.at(this.cursor++)!;
    const first = this.joinMs < 0;
    // No frame begins here.
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
    }
    this.cut = NOTHING;
    this.#wrote(segment, behind?.entryMs ?? segment.entryMs, this.bytes - before, nowMs);
  }

  /** @param entered its first segment, from the entry on; null: a later one */
  #writeLate(late: LateBlocks, segment: AudioSegment, entered: Buffer | null, nowMs: number): void {
    const { bytes } = segment;
    const slices = entered === null ? late.next(bytes, segment, nowMs) : late.first(entered, segment, nowMs);
    if (slices === null) this.#send(entered ?? bytes);
    else this.#sendOwn(slices);
  }

  #sendOwn(pieces: readonly Buffer[]): void {
    for (let i = 0; i < pieces.length; i++) this.bytes += pieces[i]!.length;
    this.#output.writeAll(pieces);
  }

  #send(bytes: Buffer): void {
    this.bytes += bytes.length;
    this.#output.write(bytes);
  }

  /** Reports to its session the titles that take effect in the segment, and that there is more to hear. */
  #progress(session: Session, segment: AudioSegment, first: boolean, nowMs: number): void {
    const joinMs = this.joinMs;
    if (first) session.begin(joinMs, inForceAt(segment, joinMs), nowMs, this.baseMs);
    for (const { mark, atMs } of segment.marks) if (!first || atMs > joinMs) session.written(mark, atMs, nowMs);
    session.release(nowMs);
  }
}
