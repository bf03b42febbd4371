/**
 * Parses the bytes of one listener: the response head, then audio and ICY blocks in turn. It checks the ICY phase from the first byte to the
 * last (after each icy-metaint audio bytes a length byte, then length × 16 bytes of text) and gives the audio to a frame walk; it copies only a
 * head, a block, a divided frame header. Owned by bench/crowd.ts, one per listener.
 */

import { FrameWalk } from './frames.js';

const HEAD_BYTES = 16_384;
const TITLE_START = "StreamTitle='";

export interface ReaderOptions {
  /** Whether ICY was requested; a head without icy-metaint is then an ICY error. */
  readonly icy: boolean;
  /** Whether to walk the audio frames (MPEG audio and ADTS only). */
  readonly frames: boolean;
  /** Called with the title of each complete block. */
  readonly onTitle?: (title: string) => void;
}

export class Reader {
  /** Why this is not a stream (`status 503`, `not HTTP`, …); nothing is read after that. */
  refusal: string | undefined;
  /** Whether the head was read, with status 200. */
  accepted = false;
  /** Audio bytes between two blocks; undefined without ICY. */
  metaint: number | undefined;
  audioBytes = 0;
  icyErrors = 0;
  /** The first fault in words. */
  firstFault: string | undefined;

  readonly #walk: FrameWalk | undefined;
  readonly #icy: boolean;
  readonly #onTitle: ((title: string) => void) | undefined;
  #head = '';
  #audioLeft = Number.POSITIVE_INFINITY;
  #block: Buffer | undefined;
  #blockFilled = 0;

  constructor(options: ReaderOptions) {
    this.#icy = options.icy;
    this.#onTitle = options.onTitle;
    if (options.frames) this.#walk = new FrameWalk();
  }

  /** Number of places where audio frames do not join; 0 without a frame walk. */
  get breaks(): number {
    return this.#walk?.breaks ?? 0;
  }

  get frames(): number {
    return this.#walk?.frames ?? 0;
  }

  /** Bytes of a partial frame before the first whole one; undefined: none found yet. */
  get leadBytes(): number | undefined {
    return this.#walk?.leadBytes;
  }

  /** Reads the first `length` bytes of a buffer, which the caller may overwrite afterwards. */
  push(buffer: Uint8Array, length: number): void {
    if (this.refusal !== undefined) return;
    const from = this.accepted ? 0 : this.#readHead(buffer, length);
    if (this.accepted) this.#readBody(buffer, from, length);
  }

  /** Returns the start of the body in this buffer, once the head is complete. */
  #readHead(buffer: Uint8Array, length: number): number {
    const had = this.#head.length;
    this.#head += Buffer.from(buffer.buffer, buffer.byteOffset, length).toString('latin1');
    const end = /\r?\n\r?\n/.exec(this.#head);
    if (!end) {
      if (this.#head.length > HEAD_BYTES) this.refusal = 'no end of head';
      return length;
    }
    const head = this.#head.slice(0, end.index);
    this.#head = '';
    const status = /^(?:HTTP\/1\.[01]|ICY) (\d{3})/.exec(head)?.[1];
    if (status === undefined) this.refusal = 'not HTTP';
    else if (status !== '200') this.refusal = `status ${status}`;
    else if (/^transfer-encoding:[ \t]*chunked/im.test(head)) this.refusal = 'chunked body';
    if (this.refusal !== undefined) return length;

    const metaint = Number(/^icy-metaint:[ \t]*(\d+)/im.exec(head)?.[1] ?? 0);
    if (metaint > 0) this.#audioLeft = this.metaint = metaint;
    else if (this.#icy) this.#icyError('no icy-metaint in the head');
    this.accepted = true;
    return end.index + end[0].length - had;
  }

  #readBody(buffer: Uint8Array, from: number, to: number): void {
    let at = from;
    while (at < to) {
      if (this.#block) {
        const length = Math.min(this.#block.length - this.#blockFilled, to - at);
        this.#block.set(buffer.subarray(at, at + length), this.#blockFilled);
        this.#blockFilled += length;
        at += length;
        if (this.#blockFilled === this.#block.length) this.#readBlock(this.#block);
      } else if (this.#audioLeft === 0) {
        const length = buffer[at++]! * 16;
        this.#audioLeft = this.metaint!;
        if (length > 0) this.#block = Buffer.allocUnsafe(length);
        this.#blockFilled = 0;
      } else {
        const length = Math.min(this.#audioLeft, to - at);
        this.#readAudio(buffer, at, at + length);
        this.#audioLeft -= length;
        at += length;
      }
    }
  }

  #readAudio(buffer: Uint8Array, from: number, to: number): void {
    this.audioBytes += to - from;
    if (!this.#walk) return;
    const breaks = this.#walk.breaks;
    this.#walk.feed(buffer, from, to);
    if (this.#walk.breaks > breaks) this.firstFault ??= `frames do not join near audio byte ${this.audioBytes}`;
  }

  #readBlock(block: Buffer): void {
    this.#block = undefined;
    let end = block.length;
    while (end > 0 && block[end - 1] === 0) end--;
    const text = block.toString('utf8', 0, end);
    if (!text.startsWith(TITLE_START) || !text.endsWith("';") || text.includes('\0')) {
      this.#icyError(`a bad block at audio byte ${this.audioBytes}: ${JSON.stringify(text.slice(0, 40))}`);
      return;
    }
    const titleEnd = text.indexOf("';", TITLE_START.length);
    this.#onTitle?.(text.slice(TITLE_START.length, titleEnd));
  }

  #icyError(fault: string): void {
    this.icyErrors++;
    this.firstFault ??= fault;
  }
}
