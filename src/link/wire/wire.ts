/**
 * The framing of messages in a stream of bytes, and the reader of a message. All numbers are little-endian.
 *
 *   │ length of the payload, 4 │ type, 1 │ payload … │ length │ type │ …
 *
 * Invariant: each message is delivered once, whole and in order, however the stream is split into chunks; allocations are bounded by
 * `MAX_MESSAGE_BYTES`. Owned by one connection (link-connection.ts).
 */

import { isUtf8 } from 'node:buffer';

export const HEADER_BYTES = 5;
/** Enough for the metrics of ten thousand channels, or a channel's state with all its held pushes; messages of tapes have a few MiB at most. */
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
  /** The payload of the incomplete message. */
  #payload: Buffer | null = null;
  #fill = 0;

  constructor(onMessage: OnMessage) {
    this.#onMessage = onMessage;
  }

  /** Takes the next bytes of the stream. @throws WireError, and errors of `onMessage`; it is unusable then */
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

  /** A header is complete. @returns how many bytes of the chunk after it were taken */
  #begin(chunk: Buffer, at: number): number {
    const length = this.#header.readUInt32LE(0);
    if (length > MAX_MESSAGE_BYTES) throw new WireError(`a message of ${length} bytes`);
    this.#headerFill = 0;
    if (chunk.length - at >= length) {
      this.#onMessage(this.#header[4]!, new MessageReader(chunk.subarray(at, at + length), false));
      return length;
    }
    // Not from Node's pool: the payload of a segment stays as long as that is on the tape.
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

/** Maximum of counters (segments, marks, subscriptions) and sizes: they continue from there in 32 bits. */
export const MAX_WHOLE = 2 ** 31 - 1;
/** Maximum size of a name, such as a mount; most members have a lower limit. */
export const MAX_NAME_BYTES = 4096;
/** Maximum of times and durations in milliseconds, and of other numbers that are not counts. */
export const MAX_NUMBER = 2 ** 52;

/**
 * Reads the fields of a message one after the other. Each method throws WireError if the message is too short, or a value is outside the bounds that
 * the caller gives: the other end may be faulty or hostile.
 */
export class MessageReader {
  readonly #bytes: Buffer;
  readonly #isOwn: boolean;
  #at = 0;

  /** @param isOwn whether blobs may refer to these bytes; else they are copied */
  constructor(bytes: Buffer, isOwn: boolean) {
    this.#bytes = bytes;
    this.#isOwn = isOwn;
  }

  byte(most = 255): number {
    return within(this.#bytes[this.#take(1)]!, 0, most);
  }

  /** An unsigned integer of 4 bytes. */
  whole(most = MAX_WHOLE, least = 0): number {
    return within(this.#bytes.readUInt32LE(this.#take(4)), least, most);
  }

  /** A signed integer of 4 bytes. */
  signed(least = -MAX_WHOLE, most = MAX_WHOLE): number {
    return within(this.#bytes.readInt32LE(this.#take(4)), least, most);
  }

  /** A float of 8 bytes. */
  number(least = -MAX_NUMBER, most = MAX_NUMBER): number {
    return within(this.#bytes.readDoubleLE(this.#take(8)), least, most);
  }

  text(maxBytes = MAX_NAME_BYTES): string {
    const length = this.whole(maxBytes);
    const from = this.#take(length);
    const bytes = this.#bytes.subarray(from, from + length);
    // Invalid bytes would be replaced by longer characters, and the text could be too long for the next reader.
    if (!isUtf8(bytes)) throw new WireError('it is not UTF-8');
    return bytes.toString('utf8');
  }

  /** Bytes preceded by their length. The result may be kept. */
  blob(maxBytes = MAX_WHOLE): Buffer {
    return this.#keep(this.whole(maxBytes));
  }

  /** All remaining bytes. The result may be kept. */
  rest(maxBytes = MAX_WHOLE): Buffer {
    return this.#keep(within(this.#bytes.length - this.#at, 0, maxBytes));
  }

  /** @throws WireError if bytes remain */
  end(): void {
    if (this.#at < this.#bytes.length) throw new WireError('a message has bytes after its end');
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
  // Never true for NaN.
  if (value >= least && value <= most) return value;
  throw new WireError(`${value} is not within ${least} to ${most}`);
}
