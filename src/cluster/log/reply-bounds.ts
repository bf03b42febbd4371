/**
 * Bounds the answers of Redis before its client reads them: the client allocates what an answer announces, so 11 bytes (`*30000000`) would take 240
 * MB. Lengths are read where the client reads them (RESP 2), payloads are skipped; nothing is kept but the line that has begun.
 *
 *   *2 CR LF  $3 CR LF abc CR LF  :1 CR LF           an answer ends when no value of it is left to come
 */

import { MAX_MESSAGE_BYTES } from '../../link/wire/wire.js';

/** Maximum size of one answer: that of a message of an origin. */
export const MAX_REPLY_BYTES = MAX_MESSAGE_BYTES;
/** Maximum number of values in one answer: more than all last values, or all nodes, have. */
export const MAX_REPLY_VALUES = 1_000_000;
/** Maximum length of a status, an error, a number or a length. */
const MAX_LINE_BYTES = 8192;

const LF = 0x0a;
const LINE = /^(?:[+-][^\r\n]*|:[+-]?\d{1,20}|([$*])(-1|\d{1,10}))\r\n$/;

export class ReplyBounds {
  /** The incomplete line. */
  #line = '';
  /** Bytes left of the present string, with its line end. */
  #payloadLeft = 0;
  /** Of the present answer: values left, values and bytes announced. */
  #valuesLeft = 0;
  #values = 0;
  #bytes = 0;
  #fault: Error | null = null;

  /** Takes the next bytes of the stream. @throws Error with the reason, from then on always */
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
