/**
 * The operator's program that sends audio. The door (http/encoder.ts) has judged and answered it; from `attach` on its socket
 * belongs to this source, which reads frames out of it until it ends, falls silent, or is told to go. One encoder at a time: a
 * second one with the same password either replaces the first, whose audio ends with its last whole frame, or is refused.
 */

import type { Socket } from 'node:net';
import { type AnyFramer, contentTypeOf, type Format, framerFor } from '../audio/framer.js';
import type { FrameSink } from '../audio/frames.js';
import type { OggLink } from '../audio/ogg-link.js';
import type { Alarm, Clock, Ringer } from '../clock.js';
import { Ahead, SLICE_BYTES } from './ahead.js';
import { BareBody, type Body, type BodyState, bodyOf } from './dechunk.js';
import { type FactLimits, readFacts, type SourceFacts } from './facts.js';
import type { SourceEvent } from './health.js';
import { MAGIC_BYTES, nameOfFormat } from './magic.js';
import type { Source, SourceInput, SourceState, SourceTitle } from './source.js';

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

export interface EncoderOptions {
  /** A source without a body byte for this long has ended (protocol.md, "Head limits"). */
  readonly bodyTimeoutMs: number;
  readonly aheadMs: number;
  readonly takeover: Takeover;
  /** Who has sent nothing for this long may be a dead connection. */
  readonly silentMs: number;
  /** Who sends this much without a frame sends no audio that we know. */
  readonly framelessBytes: number;
  readonly facts: FactLimits;
  /** What its frames do not show. */
  told(event: SourceEvent, fields: Readonly<Record<string, unknown>>): void;
}

export class EncoderSource implements Source, FrameSink, Ringer {
  readonly kind = 'encoder';
  readonly #input: SourceInput;
  readonly #options: EncoderOptions;
  readonly #clock: Clock;
  readonly #ahead: Ahead;
  #framer: AnyFramer;
  #body: Body = new BareBody();
  #wasToldToGoOn = false;
  #socket: Socket | null = null;
  #open = false;
  #waitMs = 0;
  /** Set while the socket is held back. */
  #alarm: Alarm | null = null;
  #skippedAtFrame = 0;
  /** A title out of the stream that is being committed. */
  #telling: Promise<void> | null = null;
  #facts: SourceFacts | undefined;
  #lastByteMs = 0;
  /** The first bytes of the body, and its length so far. */
  readonly #first = Buffer.alloc(MAGIC_BYTES);
  #bodyBytes = 0;

  constructor(input: SourceInput, clock: Clock, options: EncoderOptions) {
    this.#input = input;
    this.#clock = clock;
    this.#options = options;
    this.#ahead = new Ahead(options.aheadMs);
    this.#framer = framerFor(this);
  }

  get state(): SourceState {
    return this.#socket === null ? 'idle' : 'up';
  }

  /** Somebody is there who may not be replaced. */
  get busy(): boolean {
    if (this.#socket === null || this.#options.takeover === 'always') return false;
    if (this.#options.takeover === 'never' || this.#alarm !== null) return true;
    return this.#clock.now() - this.#lastByteMs <= this.#options.silentMs;
  }

  /** Of the encoder that is there, or was there last. */
  get facts(): SourceFacts | undefined {
    return this.#facts;
  }

  get contentType(): string | undefined {
    return contentTypeOf(this.#framer.codec);
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
      this.#options.told('takeover', { silentMs });
    }
    this.#socket = socket;
    this.#facts = readFacts(heads, this.#options.facts);
    this.#framer = framerFor(this);
    this.#body = bodyOf(heads) ?? new BareBody();
    this.#wasToldToGoOn = heads.get('expect')?.toLowerCase() === '100-continue';
    this.#skippedAtFrame = 0;
    this.#bodyBytes = 0;
    this.#lastByteMs = this.#clock.now();
    // How far it is ahead is not forgotten: a crowd of short connections must not run the tape past the listeners either.
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

  frame(bytes: Buffer, durationMs: number, fresh: boolean, link?: OggLink): void {
    if (this.#framer.counters.frames === 1) this.#compareType();
    this.#waitMs = this.#ahead.book(durationMs, this.#clock.now());
    this.#skippedAtFrame = this.#framer.counters.skippedBytes;
    this.#input.frame(bytes, durationMs, this.#framer.bitrateKbps, fresh, link);
  }

  titled(title: SourceTitle): void {
    this.#telling = this.#input.title(title);
  }

  /** Time has caught up with an encoder that was ahead. */
  ring(): void {
    this.#alarm = null;
    this.#lastByteMs = this.#clock.now();
    this.#socket?.setTimeout(this.#options.bodyTimeoutMs);
    this.#socket?.resume();
  }

  #read(socket: Socket, chunk: Buffer): void {
    this.#lastByteMs = this.#clock.now();
    for (let at = 0; at < chunk.length && this.#socket === socket; at += SLICE_BYTES) {
      this.#waitMs = 0;
      const state = this.#body.push(chunk.subarray(at, at + SLICE_BYTES), this.#audio);
      if (state !== 'more') {
        this.#complete(socket, state);
      } else if (this.#framer.counters.skippedBytes - this.#skippedAtFrame > this.#options.framelessBytes) {
        this.#refuse();
      } else if (this.#telling !== null || this.#waitMs > 0) {
        this.#hold(socket, chunk.subarray(at + SLICE_BYTES));
        return;
      }
    }
  }

  readonly #audio = (piece: Buffer): void => {
    if (this.#bodyBytes < MAGIC_BYTES) this.#bodyBytes += piece.copy(this.#first, this.#bodyBytes);
    this.#framer.push(piece);
  };

  /** Its length is reached, its last chunk has come, or its chunks are none. */
  #complete(socket: Socket, state: Exclude<BodyState, 'more'>): void {
    if (this.#socket !== socket) return;
    if (state === 'broken') {
      this.#options.told('broken-body', {});
      this.#end('the chunks of what the encoder sends are broken', true);
      return;
    }
    if (this.#wasToldToGoOn) socket.write(COMPLETE);
    const deadline = setTimeout(() => socket.destroy(), COMPLETE_MS);
    socket.once('close', () => clearTimeout(deadline));
    this.#end('the encoder has finished', false);
  }

  /** Reads no further for #waitMs, or until a title is committed that stands before what follows. That nothing is read meanwhile is our doing: no silence of the encoder's. */
  #hold(socket: Socket, rest: Buffer): void {
    socket.pause();
    socket.setTimeout(0);
    if (rest.length > 0) socket.unshift(rest);
    const wait = () => {
      if (this.#socket === socket) this.#alarm = this.#clock.alarm(this.#clock.now() + this.#waitMs, this);
    };
    if (this.#telling === null) wait();
    else void this.#telling.then(wait);
    this.#telling = null;
  }

  /** It is not what it said: the frames count. */
  #compareType(): void {
    const declared = this.#facts!.contentType;
    const format = TYPES.find(([type]) => type.test(declared))?.[1] ?? this.#framer.codec;
    if (format !== this.#framer.codec) this.#options.told('content-type', { declared, is: this.contentType });
  }

  #refuse(): void {
    const { frames, skippedBytes } = this.#framer.counters;
    const sends = frames === 0 ? nameOfFormat(this.#first.subarray(0, this.#bodyBytes)) : 'unknown';
    this.#options.told('no-frames', { sends, declared: this.#facts!.contentType, skippedBytes });
    this.#end(`no MP3, AAC or Ogg audio in what the encoder sends (${sends})`, true);
  }

  #end(reason: string, abrupt: boolean): void {
    if (this.#socket === null) return;
    this.#letGo(this.#socket, abrupt);
    this.#input.lost(reason);
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
