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
import type { Runs } from '../sessions/runs.js';
import type { Session } from '../sessions/session.js';
import type { Slotted } from '../sessions/slots.js';
import type { Ending } from './ending.js';
import type { LateBlocks } from './late-blocks.js';
import { ListenerSocket } from './listener-socket.js';
import type { ListenerClient, ListenerFacts, ListenerOwner, ListenerStart } from './listener-start.js';
import { heldBackSegments, maxSegments, type WriteSeconds } from './pace.js';
import { Playback } from './playback.js';

export class Listener implements Slotted {
  readonly #facts: ListenerFacts;
  readonly icy: boolean;
  /** The segment with which it began, or will if that has an entry. */
  firstSeq: number;
  /** The next segment to write. */
  cursor: number;
  slot = -1;
  index = -1;
  /** Seconds between two writes; set by the audience. */
  writeSeconds: WriteSeconds = 1;
  heldBackMs: number;
  /** Set once, by the audience, which makes the listener first and then its owner. Null: it is in no audience. */
  owner: ListenerOwner | null = null;
  readonly playback: Playback;
  #late: LateBlocks | null = null;
  readonly endsOnFormatChange: boolean;
  readonly phase: Phase | null;
  cut: Buffer;
  readonly #output: ListenerSocket;
  /** Null: none. */
  runs: Runs | null;
  readonly #tape: AudioTape;
  /** The last title sent to it that came after its segment was closed. */
  #lateMark: Mark | null = null;
  /** For Ogg; null: it gets the shared buffers. */
  #rendering: Rendering | null;

  constructor(socket: Socket, tape: AudioTape, start: ListenerStart) {
    const { channel, cursor, icy, nowMs, id = 0, client = null, maxWriteSeconds = 1 } = start;
    this.#facts = { channel, id, client, startedMs: nowMs, maxWriteSeconds };
    this.playback = new Playback(tape, start.session, start.player);
    this.#output = new ListenerSocket(socket);
    this.#tape = tape;
    this.firstSeq = cursor;
    this.cursor = cursor;
    this.icy = icy;
    this.#rendering = tape.rendering(icy);
    this.runs = start.runs ?? null;
    this.heldBackMs = start.heldBackMs ?? 0;
    this.phase = start.phase ?? null;
    this.cut = start.cut ?? NOTHING;
    this.endsOnFormatChange = start.endsOnFormatChange ?? false;
  }

  get channel(): string {
    return this.#facts.channel;
  }

  get id(): number {
    return this.#facts.id;
  }

  get client(): ListenerClient | null {
    return this.#facts.client;
  }

  get startedMs(): number {
    return this.#facts.startedMs;
  }

  get maxWriteSeconds(): WriteSeconds {
    return this.#facts.maxWriteSeconds;
  }

  get session(): Session | null {
    return this.playback.session;
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

  /** Bytes of audio given to its socket. */
  get bytes(): number {
    return this.#output.bytes;
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
    return this.#isFirst || segment === undefined ? null : inForceAt(segment, segment.endMs);
  }

  get late(): LateBlocks | null {
    return this.#late;
  }

  /** Lets `late` place its blocks, for a player that shows titles when it reads them. Before `start`; never with `phase`. */
  placeBlocks(late: LateBlocks): void {
    this.#late = late;
    this.playback.isFollowed = true;
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
    if (this.#isFirst) return;
    const { lastMark: mark, phase } = this;
    const rest = this.#tape.rest(this.cursor, this.hasBlocks);
    this.#output.write(phase?.splice(rest, { before: mark, mark, linkBytes: 0 }) ?? rest);
    this.#tape.held();
  }

  /** A copy of the rest of the frame that its last segment cut, for its next tape. */
  get frameRest(): Buffer {
    return this.#isFirst ? this.cut : Buffer.from(this.#tape.rest(this.cursor, false));
  }

  /** Whether nothing of its tape was written yet. */
  get #isFirst(): boolean {
    return this.playback.joinMs < 0;
  }

  get #isAtEnd(): boolean {
    return this.endsOnFormatChange && this.cursor >= this.#endSeq;
  }

  /** The segment in which the format changes. +∞: none is known. */
  get #endSeq(): number {
    return this.#tape.fenceAfter(this.firstSeq) - 1;
  }

  #writeDue(nowMs: number): void {
    const stays =
      this.heldBackMs > 0
        ? heldBackSegments(this.#tape, this.cursor, this.heldBackMs)
        : (this.#late?.reserve(nowMs) ?? 0);
    const { head } = this.#tape;
    const there = (this.endsOnFormatChange ? Math.min(head, this.#endSeq) : head) - this.cursor - stays;
    const due = Math.min(there, maxSegments(this.#tape, this.writeSeconds));
    if (due === 1) this.#write(nowMs);
    else if (due > 1) {
      const to = this.cursor + due;
      if (!this.#isFirst) this.playback.catchUp(nowMs);
      // Listeners that are due the same number of segments share a buffer.
      if (this.runs?.isShared(due) && this.#isUniform && !this.#isFirst && to === this.#tape.head) {
        this.#output.write(this.runs.upToEdge(due, this.icy, this.#lateMark));
        while (this.cursor < to) this.#wroteShared(nowMs);
        return;
      }
      if (this.#isFirst && this.#writeBurst(to, nowMs)) return;
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
    this.#output.write(bytes);
    while (this.cursor < to) this.#wroteShared(nowMs);
    return true;
  }

  /** The next segment was written in a shared buffer. */
  #wroteShared(nowMs: number): void {
    const segment = this.#tape.at(this.cursor++)!;
    const bytes = this.playback.isFollowed ? this.#bytesOf(segment, this.#isFirst).length : 0;
    this.#wrote(segment, segment.entryMs, bytes, nowMs);
  }

  /** @param entryMs audio time of its first byte, if the listener begins with this segment @param bytes written */
  #wrote(segment: AudioSegment, entryMs: number, bytes: number, nowMs: number): void {
    if (segment.late !== null) this.#lateMark = segment.late;
    this.playback.wrote(segment, entryMs, bytes, nowMs);
  }

  get #isUniform(): boolean {
    return this.isShared && this.#late === null;
  }

  #bytesOf(segment: AudioSegment, first: boolean): Buffer {
    if (first) return segment.entered(this.hasBlocks);
    return this.hasBlocks ? segment.titledFor(this.#lateMark) : segment.plain;
  }

  #write(nowMs: number): void {
    const segment = this.#tape.at(this.cursor++)!;
    const first = this.#isFirst;
    // No frame begins here.
    if (first && segment.entry < 0) {
      this.firstSeq = this.cursor;
      return;
    }
    const before = this.bytes;
    const behind = first && this.cut.length > 0 ? segment.enteredBehind(this.cut) : null;
    if (this.#late !== null)
      this.#writeLate(this.#late, segment, behind?.bytes ?? (first ? segment.entered(true) : null), nowMs);
    else {
      const shared = behind?.bytes ?? this.#bytesOf(segment, first);
      if (this.phase !== null) this.#output.write(this.phase.splice(shared, segment));
      else if (this.#rendering === null) this.#output.write(shared);
      else this.#output.writeAll(this.#rendering.next(shared, segment));
      if (this.#rendering?.isShared) this.#rendering = null;
    }
    this.cut = NOTHING;
    this.#wrote(segment, behind?.entryMs ?? segment.entryMs, this.bytes - before, nowMs);
  }

  /** @param entered its first segment, from the entry on; null: a later one */
  #writeLate(late: LateBlocks, segment: AudioSegment, entered: Buffer | null, nowMs: number): void {
    const { bytes } = segment;
    const slices = entered === null ? late.next(bytes, segment, nowMs) : late.first(entered, segment, nowMs);
    if (slices === null) this.#output.write(entered ?? bytes);
    else this.#output.writeAll(slices);
  }
}
