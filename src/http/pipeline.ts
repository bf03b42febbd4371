/**
 * Serialises the requests of one connection of Node's HTTP server: the parser gets the bytes up to the end of a head, and none after it
 * until the kernel has taken the answer. Node itself parses everything in a packet, and buffers the answers to all its requests in
 * memory.
 *
 *   chunk ─► up to the next blank line ─► parser ─► request ─► answer ─► taken? ─► up to the next blank line …
 *                                                                └no: the rest is unshifted, and the socket is paused
 *
 * Invariant: while an answer is pending, its connection yields no further request or upgrade, so its socket can be detached at any time.
 * The rest of a chunk is parsed in the next turn of the event loop, so a packet of many requests never blocks it. Owned by the router.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Watchdog } from '../base/watchdog.js';
import { addressOf } from '../net/front/client-address.js';
import { PushLine } from './push-line.js';
import { WholeResponse } from './whole-response.js';

const LF = 0x0a;
const CR = 0x0d;
/** Maximum pieces parsed in one turn: blank lines may also occur in a body, and before a request. */
const MAX_PIECES = 64;

export class Pipeline {
  readonly #socket: Socket;
  readonly #watchdog: Watchdog;
  readonly #parse: (chunk: Buffer) => void;
  readonly #line = new PushLine();
  /** The request whose answer is pending. */
  #request: IncomingMessage | null = null;
  #response: ServerResponse | null = null;
  /** Unparsed bytes of a body with a length. A piece ends with the body: Node 24 loses bytes after the body of an upgrade. */
  #bodyBytes = 0;
  /** Called once no answer is pending; nothing is parsed afterwards. */
  #onAnswered: (() => void) | null = null;
  /** Whether unparsed bytes were unshifted and the socket is paused. */
  #isPaused = false;
  #isOver = false;
  /** A whole answer that is not taken yet, and when `tidy` first saw it, monotonic milliseconds. */
  #unread: ServerResponse | null = null;
  #unreadMs = 0;
  /** Whether the present line contains at most CR so far. */
  #isBlankSoFar = true;
  /** The unparsed rest of the present chunk. */
  #rest: Buffer | null = null;

  /** @param socket one that the HTTP server has just accepted: its last data listener is the parser's */
  constructor(socket: Socket, watchdog: Watchdog) {
    this.#socket = socket;
    this.#watchdog = watchdog;
    this.#parse = socket.listeners('data').at(-1) as (chunk: Buffer) => void;
    // With another data listener Node's parser no longer reads from the handle directly.
    socket.off('data', this.#parse).on('data', this.#read);
  }

  /** The parser gets no more bytes. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** A request has arrived. False: an answer is still pending, and the connection is closed. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#request !== null || this.#isOver) {
      this.#socket.destroy();
      return false;
    }
    this.#request = request;
    this.#response = response;
    this.#bodyBytes = Number(request.headers['content-length'] ?? 0);
    // A proxy may have seen the end of this request elsewhere.
    if (this.#line.isRepaired) response.shouldKeepAlive = false;
    response.once('finish', this.#onFinish);
    return true;
  }

  /** Once a second: cuts the connection if its client has not taken a whole answer within `answerMs`. */
  tidy(nowMs: number, answerMs: number): void {
    const response = this.#response;
    if (!(response instanceof WholeResponse) || !response.isWhole) this.#unread = null;
    else if (response !== this.#unread) [this.#unread, this.#unreadMs] = [response, nowMs];
    else if (nowMs - this.#unreadMs >= answerMs) this.#socket.destroy();
  }

  /** For an endless or late answer: bytes of the client are read and dropped from now on, so that its disconnection is noticed. */
  ignoreRest(): void {
    this.#isOver = true;
    this.#rest = null;
    this.#socket.off('data', this.#read).on('data', drop).resume();
  }

  /** Detaches the connection and unshifts the unparsed bytes; the next owner resumes it. */
  release(): void {
    this.#isOver = true;
    this.#request = this.#response = null;
    this.#socket.off('data', this.#read).off('data', drop);
    if (this.#rest !== null && this.#rest.length > 0) this.#socket.unshift(this.#rest);
    this.#rest = null;
  }

  /**
   * Stops parsing. Calls `onAnswered` once the pending answer has been sent, or at once if there is none. An answer that waits for a body will
   * never be sent: `onAnswered` is called at once too, or, if its head has been sent, the connection is cut.
   */
  finish(onAnswered: () => void): void {
    this.#isOver = true;
    if (this.#request === null) onAnswered();
    else if (this.#request.complete) this.#onAnswered = onAnswered;
    else if (this.#response?.headersSent) this.#socket.destroy();
    else onAnswered();
  }

  readonly #read = (chunk: Buffer): void => {
    if (this.#isOver) return;
    const startMs = this.#watchdog.begin();
    this.#parseSome(chunk);
    if (this.#watchdog.end('http', startMs)) this.#watchdog.blame(addressOf(this.#socket));
  };

  /** Parses as much of the chunk as may be answered now. */
  #parseSome(chunk: Buffer): void {
    this.#isPaused = false;
    let at = 0;
    for (let pieces = 0; at < chunk.length; pieces++) {
      const isPending = this.#isPending;
      if (isPending || pieces === MAX_PIECES) {
        this.#putBack(chunk.subarray(at));
        if (!isPending) this.#resumeSoon();
        return;
      }
      const end = this.#endOfPiece(chunk, at);
      const piece = end > 0 ? chunk.subarray(at, end) : chunk.subarray(at);
      at += piece.length;
      this.#isBlankSoFar = endsBlank(piece, this.#isBlankSoFar);
      this.#rest = chunk.subarray(at);
      this.#parse(this.#line.repair(piece));
      if (this.#isOver || this.#socket.destroyed) return;
    }
    this.#rest = null;
  }

  /** The index at which the next piece ends; 0: the end of the chunk. */
  #endOfPiece(chunk: Buffer, at: number): number {
    if (this.#bodyBytes > 0) {
      const end = Math.min(at + this.#bodyBytes, chunk.length);
      this.#bodyBytes -= end - at;
      return end;
    }
    const end = blankLineEnd(chunk, at, this.#isBlankSoFar);
    // In a chunked body. If the body ends before this blank line, the line ends the next head: its last byte waits until that is clear.
    return end > 0 && this.#request !== null && end - 1 > at ? end - 1 : end;
  }

  /** False while the body of the request is incomplete: its answer may depend on it. */
  get #isPending(): boolean {
    return this.#request?.complete === true || this.#socket.writableNeedDrain;
  }

  #putBack(rest: Buffer): void {
    this.#isPaused = true;
    this.#rest = null;
    this.#socket.pause();
    this.#socket.unshift(rest);
    if (this.#socket.writableNeedDrain) this.#socket.off('drain', this.#resumeSoon).once('drain', this.#resumeSoon);
  }

  readonly #onFinish = (): void => {
    // The rest of a body is not a request line.
    if (this.#request?.complete) this.#line.begin();
    else this.#request?.once('end', () => this.#line.begin());
    this.#request = this.#response = null;
    if (this.#onAnswered !== null) this.#onAnswered();
    else if (this.#isPaused) this.#resumeSoon();
  };

  /** In the next turn, so that other connections are served between two answers to this one. */
  readonly #resumeSoon = (): void => void setImmediate(this.#resume);

  readonly #resume = (): void => {
    if (this.#isPaused && !this.#isOver && this.#socket.writable) this.#socket.resume();
  };
}

function drop(): void {}

/** The index after the LF of the next blank line; 0: there is none. @param isBlank whether the present line contains at most CR so far */
function blankLineEnd(chunk: Buffer, at: number, isBlank: boolean): number {
  let start = at;
  let isFirst = isBlank;
  for (;;) {
    const lf = chunk.indexOf(LF, start);
    if (lf < 0) return 0;
    if (isFirst && isOnlyCr(chunk, start, lf)) return lf + 1;
    start = lf + 1;
    isFirst = true;
  }
}

/** Whether the last line of the piece contains at most CR so far. */
function endsBlank(piece: Buffer, wasBlank: boolean): boolean {
  const lf = piece.lastIndexOf(LF);
  return (lf >= 0 || wasBlank) && isOnlyCr(piece, lf + 1, piece.length);
}

function isOnlyCr(bytes: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (bytes[i] !== CR) return false;
  return true;
}
