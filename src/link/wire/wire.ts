/**
 * How messages lie in a stream of bytes, and how one is read. All numbers are little-endian.
 *
 *   │ length of the payload, 4 │ type, 1 │ payload … │ length │ type │ …
 *
 * Invariant: a message is handed on once, whole, in order, wherever the stream is cut into chunks; nothing is allocated for more than
 * `MAX_MESSAGE_BYTES`. Owned by one connection (connection.ts).
 */

import { isUtf8 } from 'node:buffer';

export const HEADER_BYTES = 5;
/** The metrics of ten thousand channels, a channel's state with all pushes that it holds; what is of tapes is a few MiB at most. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

const NOTHING = Buffer.alloc(0);

/** The other end does not speak this protocol: the link is closed. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

export type OnMessage = (type: number, message: MessageReader) => void;

export class WireReader {
  readonly #onMessage: OnMessage;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerFill = 0;
  /** The message of which a part has come. */
  #payload: Buffer | null = null;
  #fill = 0;

  constructor(onMessage: OnMessage) {
    this.#onMessage = onMessage;
  }

  /** The next bytes of the stream. @throws WireError, and what `onMessage` throws; there is no going on then */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#payload !== null) at += this.#more(chunk, at);
      else {
        const copied = chunk.copy(this.#header, this.#headerFill, at, at + HEADER_BYTES - this.#headerFill);
        at += copied;
        this.#headerFill += copied;
        if (this.#headerFill === HEADER_BYTES) at += this.#begin(chunk, at);
      }
    }
  }

  /** A header is whole. Returns how much of the chunk behind it was taken. */
  #begin(chunk: Buffer, at: number): number {
    const length = this.#header.readUInt32LE(0);
    if (length > MAX_MESSAGE_BYTES) throw new WireError(`a message of ${length} bytes`);
    this.#headerFill = 0;
    if (chunk.length - at >= length) {
      this.#onMessage(this.#header[4]!, new MessageReader(chunk.subarray(at, at + length), false));
      return length;
    }
    // Not of Node's pool: of a segment it is kept for as long as that is on the tape.
    this.#payload = Buffer.allocUnsafeSlow(length);
    this.#fill = 0;
    return 0;
  }

  #more(chunk: Buffer, at: number): number {
    const payload = this.#payload!;
    const taken = chunk.copy(payload, this.#fill, at);
    this.#fill += taken;
    if (this.#fill === payload.length) {
      this.#payload = null;
      this.#onMessage(this.#header[4]!, new MessageReader(payload, true));
    }
    return taken;
  }
}

/** Of segments, marks, subscriptions, bytes: counting can go on from there in 32 bits. */
export const MAX_WHOLE = 2 ** 31 - 1;
/** Of a text that names something, such as a mount; tables of members mostly say less. */
export const MAX_NAME_BYTES = 4096;
/** Of moments and durations in milliseconds, and of other numbers that are not counts. */
export const MAX_NUMBER = 2 ** 52;

/**
 * Reads a message's fields in turn. Each throws WireError where the message is too short, and where a value is outside the bounds that the caller
 * names: the other end may be faulty or hostile.
 */
export class MessageReader {
  readonly #bytes: Buffer;
  readonly #isOwn: boolean;
  #at = 0;

  /** @param isOwn whether the bytes may be kept as they are; else what is kept is copied */
  constructor(bytes: Buffer, isOwn: boolean) {
    this.#bytes = bytes;
    this.#isOwn = isOwn;
  }

  byte(most = 255): number {
    return within(this.#bytes[this.#take(1)]!, 0, most);
  }

  /** Of 4 bytes. */
  whole(most = MAX_WHOLE, least = 0): number {
    return within(this.#bytes.readUInt32LE(this.#take(4)), least, most);
  }

  /** Of 4 bytes, with a sign. */
  signed(least = -MAX_WHOLE, most = MAX_WHOLE): number {
    return within(this.#bytes.readInt32LE(this.#take(4)), least, most);
  }

  /** Of 8 bytes. */
  number(least = -MAX_NUMBER, most = MAX_NUMBER): number {
    return within(this.#bytes.readDoubleLE(this.#take(8)), least, most);
  }

  text(mostBytes = MAX_NAME_BYTES): string {
    const length = this.whole(mostBytes);
    const from = this.#take(length);
    const bytes = this.#bytes.subarray(from, from + length);
    // Broken bytes would be replaced by longer characters, and the text could be too long for the next reader.
    if (!isUtf8(bytes)) throw new WireError('it is not UTF-8');
    return bytes.toString('utf8');
  }

  /** Bytes with their length before them; to keep. */
  blob(mostBytes = MAX_WHOLE): Buffer {
    return this.#keep(this.whole(mostBytes));
  }

  /** All that is left; to keep. */
  rest(mostBytes = MAX_WHOLE): Buffer {
    return this.#keep(within(this.#bytes.length - this.#at, 0, mostBytes));
  }

  /** @throws WireError where something is left */
  end(): void {
    if (this.#at < this.#bytes.length) throw new WireError('a message is longer than what it says');
  }

  #keep(length: number): Buffer {
    const from = this.#take(length);
    if (length === 0) return NOTHING;
    const bytes = this.#bytes.subarray(from, from + length);
    if (this.#isOwn) return bytes;
    const copy = Buffer.allocUnsafeSlow(length);
    bytes.copy(copy);
    return copy;
  }

  #take(length: number): number {
    const from = this.#at;
    if (length > this.#bytes.length - from) throw new WireError('a message is too short');
    this.#at = from + length;
    return from;
  }
}

function within(value: number, least: number, most: number): number {
  // Never true of NaN.
  if (value >= least && value <= most) return value;
  throw new WireError(`${value} is not within ${least} to ${most}`);
}
