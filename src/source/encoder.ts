/**
 * The operator's program that sends audio. The door (http/ingest/encoder.ts) has judged and answered it; from `attach` on its socket
 * belongs to this source, which reads frames out of it until it ends, falls silent, or is told to go. One encoder at a time: a
 * second one with the same password either replaces the first, whose audio ends with its last whole frame, or is refused.
 */

import type { Socket } from 'node:net';
import { contentTypeOf, type Format } from '../audio/format.js';
import type { OggLink } from '../audio/ogg-link.js';
import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import { BareBody, type BodyState, bodyOf, type EncoderBody } from './dechunk.js';
import { type FactLimits, readFacts, type SourceFacts } from './facts.js';
import type { SourceEvent } from './health.js';
import { Intake, type IntakeOwner } from './intake.js';
import { MAGIC_BYTES, nameOfFormat } from './magic.js';
import { Pacer, SLICE_BYTES } from './pacer.js';
import type { Source, SourceInput, SourceState } from './source.js';

/** From whom another encoder that knows the password may take over: one that has fallen silent, anybody, nobody. */
export type Takeover = 'silent' | 'always' | 'never';

/** Whose body is complete, and who was told to go on with a 100: that was all. */
const COMPLETE = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
/** What a content type says of the frames; any other says nothing. */
const TYPES: readonly (readonly [RegExp, Format])[] = [
  [/aac/, 'aac'],
  [/mpeg|mp3/, 'mp3'],
  [/ogg|opus|vorbis/, 'ogg'],
];
/** For so long an encoder whose body is complete may take to close. */
const COMPLETE_MS = 2000;
/**
 * One that is held back is not read, so nobody sees it go: for so long after its last new bytes it is believed to be there. What lies
 * unread of real audio (64 KB at 8 kb/s) is spent by then; packets of a few bytes may claim hours.
 */
const HELD_SILENT_MS = 60_000;

export interface EncoderOptions {
  /** Whose work it is where it takes too long. */
  readonly channel: string;
  /** A source without a body byte, or with bytes but no audio, for this long has ended (protocol.md, "Head limits"). */
  readonly bodyTimeoutMs: number;
  readonly aheadMs: number;
  readonly takeover: Takeover;
  /** Whose audio is overdue by this long may be a dead connection. */
  readonly silentMs: number;
  /** Who sends this much in which there is no audio that we know, or next to none, sends no stream (intake.ts). */
  readonly framelessBytes: number;
  readonly facts: FactLimits;
  /** What its frames do not show. */
  onEvent(event: SourceEvent, fields: Readonly<Record<string, unknown>>): void;
}

export class EncoderSource implements Source, IntakeOwner, AlarmHandler {
  readonly kind = 'encoder';
  readonly #input: SourceInput;
  readonly #options: EncoderOptions;
  readonly #clock: Clock;
  readonly #ahead: Pacer;
  #intake: Intake;
  #body: EncoderBody = new BareBody();
  #bodyState: BodyState = 'more';
  #wasToldToGoOn = false;
  #socket: Socket | null = null;
  #agent = '';
  #open = false;
  /** Set while the socket is held back. */
  #alarm: Alarm | null = null;
  #facts: SourceFacts | undefined;
  #lastByteMs = 0;
  /** When the connection began, its last frame came, or it was held back last. */
  #lastAudioMs = 0;
  /** When bytes last came over the network, and how many in all: what was held back comes again. */
  #lastNewMs = 0;
  #bytesRead = 0;
  /** The first bytes of the body, and its length so far. */
  readonly #first = Buffer.alloc(MAGIC_BYTES);
  #bodyBytes = 0;

  constructor(input: SourceInput, clock: Clock, options: EncoderOptions) {
    this.#input = input;
    this.#clock = clock;
    this.#options = options;
    this.#ahead = new Pacer(options.aheadMs);
    this.#intake = this.#newIntake();
  }

  get state(): SourceState {
    return this.#socket === null ? 'idle' : 'up';
  }

  /** Somebody is there who may not be replaced. */
  get busy(): boolean {
    if (this.#socket === null || this.#options.takeover === 'always') return false;
    if (this.#options.takeover === 'never') return true;
    const { silentMs } = this.#options;
    const nowMs = this.#clock.now();
    if (this.#alarm !== null) return nowMs - this.#lastNewMs <= Math.max(silentMs, HELD_SILENT_MS);
    return this.#overdueMs(nowMs) <= silentMs;
  }

  /** The User-Agent of the encoder that is there; "": it has none, or nobody is there. */
  get agent(): string {
    return this.#socket === null ? '' : this.#agent;
  }

  /** How long ago bytes of it came over the network last, milliseconds. */
  get quietMs(): number {
    return this.#clock.now() - this.#lastNewMs;
  }

  /** Of the encoder that is there, or was there last. */
  get facts(): SourceFacts | undefined {
    return this.#facts;
  }

  get contentType(): string | undefined {
    return contentTypeOf(this.#intake.codec);
  }

  get pageMs(): number {
    return this.#intake.pageMs;
  }

  start(): void {
    this.#open = true;
  }

  stop(): void {
    this.#open = false;
    this.#end('stopped', true);
  }

  /**
   * Takes over an encoder's connection whose head is read and answered; who was there before is cut.
   * @param first body bytes that came with the head @param heads names in lower case
   */
  attach(socket: Socket, first: Buffer, heads: ReadonlyMap<string, string>): void {
    if (!this.#open) {
      socket.destroy();
      return;
    }
    if (this.#socket !== null) {
      const silentMs = Math.round(this.#clock.now() - this.#lastByteMs);
      this.#letGo(this.#socket, true);
      this.#options.onEvent('takeover', { silentMs });
    }
    this.#socket = socket;
    this.#agent = heads.get('user-agent') ?? '';
    this.#facts = readFacts(heads, this.#options.facts);
    this.#intake = this.#newIntake();
    this.#bodyState = 'more';
    this.#body = bodyOf(heads) ?? new BareBody();
    this.#wasToldToGoOn = heads.get('expect')?.toLowerCase() === '100-continue';
    this.#bodyBytes = 0;
    this.#lastByteMs = this.#lastNewMs = this.#lastAudioMs = this.#clock.now();
    this.#bytesRead = socket.bytesRead;
    this.#ahead.reconnect(this.#lastByteMs);
    const mine = () => this.#socket === socket;
    socket.setTimeout(this.#options.bodyTimeoutMs);
    socket.on('timeout', () => mine() && this.#end('no bytes from the encoder', true));
    socket.on('error', () => mine() && this.#end('the connection failed', true));
    socket.on('end', () => mine() && this.#end('the encoder has finished', false));
    socket.on('close', () => mine() && this.#end('the connection was closed', true));
    // Back into the socket, so that all of the body comes by one road.
    socket.pause();
    if (first.length > 0) socket.unshift(first);
    socket.on('data', (chunk: Buffer) => mine() && this.#read(socket, chunk));
    socket.resume();
  }

  frame(bytes: Buffer, durationMs: number, bitrateKbps: number, fresh: boolean, link?: OggLink): number {
    if (this.#intake.counters.frames === 1) this.#compareType();
    this.#lastAudioMs = this.#clock.now();
    const waitMs = this.#ahead.book(durationMs, this.#lastAudioMs);
    this.#input.onFrame(bytes, durationMs, bitrateKbps, fresh, link);
    return waitMs;
  }

  /** For how long there should have been audio: bytes that hold none are no sign of life. */
  #overdueMs(nowMs: number): number {
    return nowMs - Math.max(this.#lastAudioMs, this.#input.dueMs);
  }

  /** The wait is over. */
  onAlarm(): void {
    this.#alarm = null;
    const socket = this.#socket;
    if (socket === null) return;
    this.#lastByteMs = this.#lastAudioMs = this.#clock.now();
    const startMs = this.#clock.watchdog.begin();
    this.#intake.resume();
    this.#worked(startMs);
    if (this.#stops(socket)) return;
    socket.setTimeout(this.#options.bodyTimeoutMs);
    socket.resume();
  }

  #read(socket: Socket, chunk: Buffer): void {
    const startMs = this.#clock.watchdog.begin();
    this.#take(socket, chunk);
    this.#worked(startMs);
  }

  #worked(startMs: number): void {
    const { watchdog } = this.#clock;
    if (watchdog.end('encoder', startMs)) watchdog.blame(this.#options.channel);
  }

  #take(socket: Socket, chunk: Buffer): void {
    this.#lastByteMs = this.#clock.now();
    if (socket.bytesRead !== this.#bytesRead) {
      this.#bytesRead = socket.bytesRead;
      this.#lastNewMs = this.#lastByteMs;
    }
    if (this.#overdueMs(this.#lastByteMs) > this.#options.bodyTimeoutMs) {
      this.#end('no audio in what the encoder sends', true);
      return;
    }
    for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
      this.#bodyState = this.#body.push(chunk.subarray(at, at + SLICE_BYTES), this.#audio);
      if (!this.#stops(socket)) continue;
      const rest = chunk.subarray(at + SLICE_BYTES);
      if (this.#socket === socket && rest.length > 0) socket.unshift(rest);
      return;
    }
  }

  readonly #audio = (piece: Buffer): void => {
    if (this.#bodyBytes < MAGIC_BYTES) this.#bodyBytes += piece.copy(this.#first, this.#bodyBytes);
    this.#intake.push(piece);
  };

  /** What was just read is to be waited for, was the last, or is no audio. */
  #stops(socket: Socket): boolean {
    if (this.#socket !== socket) return true;
    if (this.#intake.isNoAudio) this.#refuse();
    else if (this.#intake.isHeld) this.#hold(socket);
    else if (this.#bodyState !== 'more') this.#complete(socket, this.#bodyState);
    else return false;
    return true;
  }

  #newIntake(): Intake {
    return new Intake(this, this.#clock, this.#options.framelessBytes);
  }

  /** Its length is reached, its last chunk has come, or its chunks are none. */
  #complete(socket: Socket, state: Exclude<BodyState, 'more'>): void {
    if (state === 'broken') {
      this.#options.onEvent('broken-body', {});
      this.#end('the chunks of what the encoder sends are broken', true);
      return;
    }
    if (this.#wasToldToGoOn) socket.write(COMPLETE);
    const deadline = setTimeout(() => socket.destroy(), COMPLETE_MS);
    socket.once('close', () => clearTimeout(deadline));
    this.#end('the encoder has finished', false);
  }

  /** Reads no further for a while, or until a title is committed that stands before what follows. That nothing is read meanwhile is our doing: no silence of the encoder's. */
  #hold(socket: Socket): void {
    const { title, waitMs } = this.#intake;
    socket.pause();
    socket.setTimeout(title === undefined ? this.#options.bodyTimeoutMs + waitMs : 0);
    if (title === undefined) this.#wait(waitMs);
    else void this.#input.onTitle(title).then(() => this.#socket === socket && this.#wait(waitMs));
  }

  #wait(ms: number): void {
    this.#alarm = this.#clock.alarm(this.#clock.now() + ms, this);
  }

  /** It is not what it said: the frames count. */
  #compareType(): void {
    const declared = this.#facts!.contentType;
    const format = TYPES.find(([type]) => type.test(declared))?.[1] ?? this.#intake.codec;
    if (format !== this.#intake.codec) this.#options.onEvent('content-type', { declared, is: this.contentType });
  }

  #refuse(): void {
    const { frames, skippedBytes } = this.#intake.counters;
    const declared = this.#facts!.contentType;
    if (frames > 0) {
      this.#options.onEvent('damaged', { declared, frames, skippedBytes });
      this.#end('no MP3, AAC or Ogg audio in most of what the encoder sends: damaged', true);
      return;
    }
    const sends = nameOfFormat(this.#first.subarray(0, this.#bodyBytes));
    this.#options.onEvent('no-frames', { sends, declared, skippedBytes });
    this.#end(`no MP3, AAC or Ogg audio in what the encoder sends (${sends})`, true);
  }

  #end(reason: string, abrupt: boolean): void {
    if (this.#socket === null) return;
    this.#letGo(this.#socket, abrupt);
    this.#input.onLost(reason);
  }

  #letGo(socket: Socket, abrupt: boolean): void {
    this.#socket = null;
    this.#alarm?.cancel();
    this.#alarm = null;
    socket.setTimeout(0);
    if (abrupt) socket.destroy();
    else socket.end();
  }
}
