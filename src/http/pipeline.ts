/**
 * The requests of one connection of Node's HTTP server, one after the other: the parser is given what comes up to the end of a head,
 * and nothing behind it before the answer has been taken by the kernel. Node by itself parses whatever a packet holds, and lets every
 * request of it be answered into memory.
 *
 *   chunk ─► up to the next blank line ─► parser ─► request ─► answer ─► taken? ─► up to the next blank line …
 *                                                                └no: the rest is put back, and the socket is paused
 *
 * Invariant: no request and no upgrade comes of a connection that owes an answer; so its socket can be given away at once. Behind an
 * answer the rest waits for the next turn of the loop, so a full packet never blocks it. Owned by the router, one a connection.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Watchdog } from '../base/watchdog.js';
import { addressOf } from '../net/front/peer.js';
import { PushLine } from './push-line.js';

const LF = 0x0a;
const CR = 0x0d;
/** Pieces given to the parser in one turn: blank lines can also stand in a body, and before a request. */
const MAX_PIECES = 64;

export class Pipeline {
  readonly #socket: Socket;
  readonly #watchdog: Watchdog;
  readonly #parse: (chunk: Buffer) => void;
  readonly #line = new PushLine();
  /** The request whose answer is owed. */
  #request: IncomingMessage | null = null;
  #response: ServerResponse | null = null;
  /**
   * Of a body with a length, what has not been parsed: it is parsed alone. Of an offer to upgrade Node 24 and later lose what they are
   * given together with the end of its body.
   */
  #bodyBytes = 0;
  /** What is to be done once nothing is owed: it is the last thing here. */
  #onAnswered: (() => void) | null = null;
  /** What came and was not parsed is put back, and the socket is paused. */
  #isPaused = false;
  #isOver = false;
  /** Since the last line end came nothing but CR. */
  #isBlankSoFar = true;
  /** What was not parsed of the chunk in hand. */
  #rest: Buffer | null = null;

  /** @param socket one that the HTTP server has just taken: its listener for data is the parser's */
  constructor(socket: Socket, watchdog: Watchdog) {
    this.#socket = socket;
    this.#watchdog = watchdog;
    this.#parse = socket.listeners('data').at(-1) as (chunk: Buffer) => void;
    // Node's parser no longer reads the handle past the socket as soon as it has another listener.
    socket.off('data', this.#parse).on('data', this.#read);
  }

  /** The connection was given away: the parser gets nothing any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** A request has come. False: an answer is owed still, and the connection is closed. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#request !== null || this.#isOver) {
      this.#socket.destroy();
      return false;
    }
    this.#request = request;
    this.#response = response;
    this.#bodyBytes = Number(request.headers['content-length'] ?? 0);
    // A proxy may have seen the end of this request somewhere else.
    if (this.#line.isRepaired) response.shouldKeepAlive = false;
    response.once('finish', this.#onFinish);
    return true;
  }

  /** The answer has no end, or is long in coming: what still comes is read and dropped, so that the end of the connection is seen. */
  ignoreRest(): void {
    this.#isOver = true;
    this.#rest = null;
    this.#socket.off('data', this.#read).on('data', drop).resume();
  }

  /** Gives the connection away, with what was not parsed put back: to be resumed by its next owner. */
  release(): void {
    this.#isOver = true;
    this.#request = this.#response = null;
    this.#socket.off('data', this.#read).off('data', drop);
    if (this.#rest !== null && this.#rest.length > 0) this.#socket.unshift(this.#rest);
    this.#rest = null;
  }

  /**
   * Nothing more is parsed. Calls `onAnswered` once the answer that is owed has gone out, or at once; where that answer waits for a body
   * that cannot come any more, at once too, unless some of it has gone out: then the connection is cut.
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

  /** As much of it as may be answered now. */
  #parseSome(chunk: Buffer): void {
    this.#isPaused = false;
    let at = 0;
    for (let pieces = 0; at < chunk.length; pieces++) {
      const isOwing = this.#isOwing;
      if (isOwing || pieces === MAX_PIECES) {
        this.#putBack(chunk.subarray(at));
        if (!isOwing) this.#resumeSoon();
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

  /** Where the next piece ends; 0: with the chunk. */
  #endOfPiece(chunk: Buffer, at: number): number {
    if (this.#bodyBytes > 0) {
      const end = Math.min(at + this.#bodyBytes, chunk.length);
      this.#bodyBytes -= end - at;
      return end;
    }
    const end = blankLineEnd(chunk, at, this.#isBlankSoFar);
    // Chunks are on their way. If they end before this blank line, the next head would end with it: all but the last byte shows that.
    return end > 0 && this.#request !== null && end - 1 > at ? end - 1 : end;
  }

  /** Not as long as the body of the request is on its way: the answer may wait for it. */
  get #isOwing(): boolean {
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
    // What is left of a body is not a line.
    if (this.#request?.complete) this.#line.begin();
    else this.#request?.once('end', () => this.#line.begin());
    this.#request = this.#response = null;
    if (this.#onAnswered !== null) this.#onAnswered();
    else if (this.#isPaused) this.#resumeSoon();
  };

  /** Not at once: whatever else is due comes between two answers to one connection. */
  readonly #resumeSoon = (): void => void setImmediate(this.#resume);

  readonly #resume = (): void => {
    if (this.#isPaused && !this.#isOver && this.#socket.writable) this.#socket.resume();
  };
}

function drop(): void {}

/** Where the next blank line ends, behind its LF; 0: there is none. @param isBlank the line that begins or goes on here holds only CR */
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

/** Whether the piece ends in a line that holds only CR so far. */
function endsBlank(piece: Buffer, wasBlank: boolean): boolean {
  const lf = piece.lastIndexOf(LF);
  return (lf >= 0 || wasBlank) && isOnlyCr(piece, lf + 1, piece.length);
}

function isOnlyCr(bytes: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (bytes[i] !== CR) return false;
  return true;
}
