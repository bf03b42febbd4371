/**
 * Assembles messages on pages, which the stream then holds without a copy:
 *
 *   page    │ handed on │ message │ message │ head and fields ┆ …        large bytes follow their fields without a copy
 *
 * Owned by one connection (link-connection.ts).
 */

import { HEADER_BYTES } from './wire.js';

const PAGE_BYTES = 16 * 1024;

export class MessageWriter {
  #page = Buffer.allocUnsafeSlow(PAGE_BYTES);
  /** End of the bytes that were taken, start of the present message, end of all bytes. */
  #taken = 0;
  #from = 0;
  #fill = 0;

  /** Begins a message; its fields follow. */
  begin(type: number): this {
    this.#from = this.#fill;
    const at = this.#room(HEADER_BYTES);
    this.#page[at + 4] = type;
    return this;
  }

  byte(value: number): this {
    const at = this.#room(1);
    this.#page[at] = value;
    return this;
  }

  whole(value: number): this {
    const at = this.#room(4);
    this.#page.writeUInt32LE(value, at);
    return this;
  }

  signed(value: number): this {
    const at = this.#room(4);
    this.#page.writeInt32LE(value, at);
    return this;
  }

  number(value: number): this {
    const at = this.#room(8);
    this.#page.writeDoubleLE(value, at);
    return this;
  }

  text(value: string): this {
    const length = Buffer.byteLength(value);
    this.whole(length);
    const at = this.#room(length);
    this.#page.write(value, at);
    return this;
  }

  /** Copies them, preceded by their length. */
  blob(bytes: Buffer): this {
    return this.whole(bytes.length).bytes(bytes);
  }

  /** Copies them. */
  bytes(bytes: Buffer): this {
    const at = this.#room(bytes.length);
    bytes.copy(this.#page, at);
    return this;
  }

  /** Ends the message. @param behind number of bytes that follow its fields elsewhere */
  end(behind = 0): void {
    this.#page.writeUInt32LE(this.#fill - this.#from - HEADER_BYTES + behind, this.#from);
    this.#from = this.#fill;
  }

  /** Size of the complete messages that were not taken yet. */
  get waitingBytes(): number {
    return this.#from - this.#taken;
  }

  /** All complete messages; null: none. */
  take(): Buffer | null {
    if (this.#from === this.#taken) return null;
    const bytes = this.#page.subarray(this.#taken, this.#from);
    this.#taken = this.#from;
    return bytes;
  }

  /** The offset on `#page` of the next `length` bytes. */
  #room(length: number): number {
    if (this.#page.length - this.#fill < length) this.#turn(length);
    const at = this.#fill;
    this.#fill += length;
    return at;
  }

  /** Continues on a new page with enough room, as sockets may hold the old one. */
  #turn(length: number): void {
    const kept = this.#fill - this.#taken;
    const page = Buffer.allocUnsafeSlow(Math.max(PAGE_BYTES, 2 * kept + length));
    this.#page.copy(page, 0, this.#taken, this.#fill);
    this.#page = page;
    this.#from -= this.#taken;
    this.#fill = kept;
    this.#taken = 0;
  }
}
