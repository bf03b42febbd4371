/**
 * The framings of an encoder's body: none, a length, or chunks (RFC 9112, 6 and 7.1). Parsed here, since Node's parser rejects these requests,
 * and leniently: lines may end in LF, CRLF or CR CR LF, sizes may be surrounded by blanks, extensions and trailers are ignored.
 * Invariant: the output depends on the bytes only, never on where they were split; memory is a few counters.
 *
 *   1000;ext=1 CR LF  audio…  CR LF  0 CR LF  Trailer: x CR LF  CR LF
 *   size              data    gap    size     trailers                  ─► 'end'
 */

import type { BodyState, PieceSink, StreamBody } from './body.js';

/** It contains no titles. */
export type EncoderSink = Pick<PieceSink, 'onAudio'>;

export interface EncoderBody extends StreamBody {
  /** Its position, for `resumedBody`. */
  readonly position: BodyPosition;
  push(bytes: Buffer, sink: EncoderSink): number;
}

/** The position in a body, as plain data. */
export type BodyPosition =
  | { readonly kind: 'bare' }
  | { readonly kind: 'sized'; readonly left: number }
  | ({ readonly kind: 'chunked' } & Readonly<ChunkPosition>);

type ChunkedState = 'size' | 'extension' | 'data' | 'gap' | 'trailers' | BodyState;

interface ChunkPosition {
  state: ChunkedState;
  size: number;
  digits: number;
  /** Since the last piece of audio. */
  lineBytes: number;
  /** In the trailers: whether the line is not empty. */
  blank: boolean;
  /** A blank has followed the digits, so no more digits may follow. */
  closed: boolean;
}

/** Lasts as long as the connection. */
export class BareBody implements EncoderBody {
  readonly position: BodyPosition = { kind: 'bare' };
  readonly state = 'more';

  push(bytes: Buffer, sink: EncoderSink): number {
    sink.onAudio(bytes);
    return bytes.length;
  }
}

/** Content-Length: that many bytes; later ones are ignored. */
class SizedBody implements EncoderBody {
  state: BodyState = 'more';
  #left: number;

  constructor(length: number) {
    this.#left = length;
  }

  get position(): BodyPosition {
    return { kind: 'sized', left: this.#left };
  }

  push(bytes: Buffer, sink: EncoderSink): number {
    const piece = bytes.subarray(0, this.#left);
    this.#left -= piece.length;
    if (this.#left === 0) this.state = 'end';
    if (piece.length > 0) sink.onAudio(piece);
    return bytes.length;
  }
}

const LF = 0x0a;
const CR = 0x0d;
const SEMICOLON = 0x3b;
/** 2^32 bytes: no encoder sends more than a day of audio in one chunk. */
const MAX_DIGITS = 8;
/** Maximum length of a chunk-size line, and of all trailers together: more than any encoder sends. They are counted, never kept. */
const MAX_LINE_BYTES = 4096;

const AT_FIRST_SIZE: Readonly<ChunkPosition> = {
  state: 'size',
  size: 0,
  digits: 0,
  lineBytes: 0,
  blank: true,
  closed: false,
};

class ChunkedBody implements EncoderBody {
  readonly #at: ChunkPosition;

  constructor(at: Readonly<ChunkPosition>) {
    this.#at = { ...at };
  }

  get position(): BodyPosition {
    return { kind: 'chunked', ...this.#at };
  }

  get state(): BodyState {
    return this.#at.state === 'end' || this.#at.state === 'broken' ? this.#at.state : 'more';
  }

  push(bytes: Buffer, sink: EncoderSink): number {
    for (let at = 0; at < bytes.length && this.state === 'more'; ) {
      if (this.#at.state === 'data') {
        const piece = bytes.subarray(at, at + this.#at.size);
        at += piece.length;
        this.#at.size -= piece.length;
        if (this.#at.size === 0) this.#begin('gap');
        sink.onAudio(piece);
      } else if (++this.#at.lineBytes > MAX_LINE_BYTES) this.#at.state = 'broken';
      else this.#byte(bytes[at++]!);
    }
    return bytes.length;
  }

  #begin(state: 'size' | 'data' | 'gap' | 'trailers'): void {
    this.#at.state = state;
    this.#at.lineBytes = 0;
  }

  #byte(byte: number): void {
    if (this.#at.state === 'size') this.#sizeByte(byte);
    else if (this.#at.state === 'extension') {
      if (byte === LF) this.#sizeEnds();
    } else if (this.#at.state === 'gap') {
      if (byte === LF) this.#startSize();
      else if (byte !== CR) this.#at.state = 'broken';
    } else if (byte === LF) {
      if (this.#at.blank) this.#at.state = 'end';
      this.#at.blank = true;
    } else if (byte !== CR) this.#at.blank = false;
  }

  #startSize(): void {
    this.#begin('size');
    this.#at.size = 0;
    this.#at.digits = 0;
    this.#at.closed = false;
  }

  #sizeByte(byte: number): void {
    const digit = hexDigit(byte);
    if (digit >= 0 && !this.#at.closed && this.#at.digits < MAX_DIGITS) {
      this.#at.size = this.#at.size * 16 + digit;
      this.#at.digits++;
    } else if (byte === LF) this.#sizeEnds();
    else if (byte === SEMICOLON && this.#at.digits > 0) this.#at.state = 'extension';
    else if (byte === 0x20 || byte === 0x09 || byte === CR) this.#at.closed = this.#at.digits > 0;
    else this.#at.state = 'broken';
  }

  #sizeEnds(): void {
    if (this.#at.digits === 0) this.#at.state = 'broken';
    else if (this.#at.size > 0) this.#begin('data');
    else this.#begin('trailers');
  }
}

/** -1: it is not a hex digit. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/**
 * The framing of the body after this head. Chunks take precedence over a length (RFC 9112, 6.3).
 * Null: unknown, or two different lengths.
 */
export function bodyOf(headers: ReadonlyMap<string, string>): EncoderBody | null {
  const coding = headers.get('transfer-encoding')?.toLowerCase() ?? '';
  if (coding === 'chunked') return new ChunkedBody(AT_FIRST_SIZE);
  if (coding !== '' && coding !== 'identity') return null;
  const length = headers.get('content-length');
  if (length === undefined) return new BareBody();
  return /^\d{1,15}$/.test(length) ? new SizedBody(Number(length)) : null;
}

/** A body that another process has read up to this position. */
export function resumedBody(position: BodyPosition): EncoderBody {
  if (position.kind === 'chunked') return new ChunkedBody(position);
  return position.kind === 'sized' ? new SizedBody(position.left) : new BareBody();
}
