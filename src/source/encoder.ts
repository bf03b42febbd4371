/**
 * The operator's program that sends audio. The door (http/encoder.ts) has judged and answered it; from `attach` on its socket
 * belongs to this source, which reads frames out of it until it ends, falls silent, or is told to go. One encoder at a time.
 */

import type { Socket } from 'node:net';
import { Framer, type FrameSink } from '../audio/frames.js';
import type { Alarm, Clock, Ringer } from '../clock.js';
import { Ahead, SLICE_BYTES } from './ahead.js';
import type { Source, SourceInput, SourceState } from './source.js';

/** A source that sent this much since its last frame (or none) sends no audio that we know. */
const MOST_WITHOUT_FRAMES = 256 * 1024;

export interface EncoderOptions {
  /** A source without a body byte for this long has ended (protocol.md, "Head limits"). */
  readonly bodyTimeoutMs: number;
  readonly aheadMs: number;
}

export class EncoderSource implements Source, FrameSink, Ringer {
  readonly kind = 'encoder';
  readonly #input: SourceInput;
  readonly #options: EncoderOptions;
  readonly #clock: Clock;
  readonly #ahead: Ahead;
  #framer: Framer;
  #socket: Socket | null = null;
  #open = false;
  #waitMs = 0;
  /** Set while the socket is held back. */
  #alarm: Alarm | null = null;
  #skippedAtFrame = 0;

  constructor(input: SourceInput, clock: Clock, options: EncoderOptions) {
    this.#input = input;
    this.#clock = clock;
    this.#options = options;
    this.#ahead = new Ahead(options.aheadMs);
    this.#framer = new Framer(this);
  }

  get state(): SourceState {
    return this.#socket === null ? 'idle' : 'up';
  }

  get busy(): boolean {
    return this.#socket !== null;
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

  /** Takes over an encoder's connection whose head is read and answered. @param first body bytes that came with the head */
  attach(socket: Socket, first: Buffer): void {
    if (!this.#open) {
      socket.destroy();
      return;
    }
    this.#socket = socket;
    this.#framer = new Framer(this);
    this.#skippedAtFrame = 0;
    this.#ahead.reset();
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

  frame(bytes: Buffer, durationMs: number, fresh: boolean): void {
    this.#waitMs = this.#ahead.book(durationMs, this.#clock.now());
    this.#skippedAtFrame = this.#framer.counters.skippedBytes;
    this.#input.frame(bytes, durationMs, this.#framer.bitrateKbps, fresh);
  }

  /** Time has caught up with an encoder that was ahead. */
  ring(): void {
    this.#alarm = null;
    this.#socket?.setTimeout(this.#options.bodyTimeoutMs);
    this.#socket?.resume();
  }

  #read(socket: Socket, chunk: Buffer): void {
    for (let at = 0; at < chunk.length && this.#socket === socket; at += SLICE_BYTES) {
      this.#waitMs = 0;
      this.#framer.push(chunk.subarray(at, at + SLICE_BYTES));
      if (this.#framer.counters.skippedBytes - this.#skippedAtFrame > MOST_WITHOUT_FRAMES) {
        this.#end('no MP3 or AAC frames in what the encoder sends', true);
      } else if (this.#waitMs > 0) {
        this.#hold(socket, chunk.subarray(at + SLICE_BYTES));
        return;
      }
    }
  }

  /** Reads no further for #waitMs. That nothing is read meanwhile is our doing: no silence of the encoder's. */
  #hold(socket: Socket, rest: Buffer): void {
    socket.pause();
    socket.setTimeout(0);
    if (rest.length > 0) socket.unshift(rest);
    this.#alarm = this.#clock.alarm(this.#clock.now() + this.#waitMs, this);
  }

  #end(reason: string, abrupt: boolean): void {
    const socket = this.#socket;
    if (socket === null) return;
    this.#socket = null;
    this.#alarm?.cancel();
    this.#alarm = null;
    socket.setTimeout(0);
    if (abrupt) socket.destroy();
    else socket.end();
    this.#input.lost(reason);
  }
}

export function contentTypeOf(codec: 'mp3' | 'aac' | undefined): string | undefined {
  return codec === undefined ? undefined : codec === 'mp3' ? 'audio/mpeg' : 'audio/aac';
}
