/**
 * Bounds the answers of Redis before its client reads them: that one allocates what an answer announces, so 11 bytes (`*30000000`) would take 240 MB.
 * Lengths are read where the client reads them (RESP 2), payloads are skipped; nothing is kept but the line that has begun.
 *
 *   *2 CR LF  $3 CR LF abc CR LF  :1 CR LF           an answer ends when no value of it is left to come
 */

import { MAX_MESSAGE_BYTES } from '../../link/wire/wire.js';

/** Of one answer: as of an origin, which answers in one message. */
export const MAX_REPLY_BYTES = MAX_MESSAGE_BYTES;
/** All values in one answer. More than the last values of all channels, or all nodes, are (checked-log.ts). */
export const MAX_REPLY_VALUES = 1_000_000;
/** Of a status, an error, a number or a length. */
const MAX_LINE_BYTES = 8192;

const LF = 0x0a;
const LINE = /^(?:[+-][^\r\n]*|:[+-]?\d{1,20}|([$*])(-1|\d{1,10}))\r\n$/;

export class ReplyBounds {
  /** Of the line that has begun. */
  #line = '';
  /** Of a string that has begun, with its end. */
  #payloadLeft = 0;
  /** Of the answer that has begun: values yet to come, and what has been announced. */
  #valuesLeft = 0;
  #values = 0;
  #bytes = 0;
  #fault: Error | null = null;

  /** The next bytes of the stream, in any number. @throws Error which says what is wrong; from then on always */
  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#fault !== null) throw this.#fault;
      if (this.#payloadLeft > 0) {
        const passed = Math.min(this.#payloadLeft, chunk.length - at);
        this.#payloadLeft -= passed;
        at += passed;
        continue;
      }
      const end = chunk.indexOf(LF, at) + 1 || chunk.length;
      this.#line += chunk.toString('latin1', at, Math.min(end, at + MAX_LINE_BYTES + 1));
      at = end;
      if (this.#line.length > MAX_LINE_BYTES) this.#fault = new Error(`a line of more than ${MAX_LINE_BYTES} bytes`);
      else if (chunk[end - 1] === LF) this.#takeLine();
    }
    if (this.#fault !== null) throw this.#fault;
  }

  #takeLine(): void {
    const line = this.#line;
    this.#line = '';
    const [isLine, type, length = '0'] = LINE.exec(line) ?? [];
    if (isLine === undefined) {
      this.#fault = new Error('an answer that is not RESP 2');
      return;
    }
    if (this.#valuesLeft === 0) {
      this.#valuesLeft = 1;
      this.#values = this.#bytes = 0;
    }
    const count = Math.max(0, Number(length));
    this.#valuesLeft += (type === '*' ? count : 0) - 1;
    this.#values += type === '*' ? count : 0;
    if (type === '$' && length !== '-1') this.#payloadLeft = count + 2;
    this.#bytes += line.length + this.#payloadLeft;
    if (this.#bytes > MAX_REPLY_BYTES) this.#fault = new Error(`an answer of more than ${MAX_REPLY_BYTES} bytes`);
    if (this.#values > MAX_REPLY_VALUES) this.#fault = new Error(`an answer of more than ${MAX_REPLY_VALUES} values`);
  }
}
