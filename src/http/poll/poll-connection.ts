/**
 * One connection, as long as all its requests are plain polls. Answers are shared texts, written in the order of the requests. At the first
 * other byte the connection goes to Node's HTTP server for good, with all unanswered bytes unshifted.
 *
 *   chunk ─► the same head again? ─yes─► answer, answer, …          once a second: idle too long? ─► closed
 *              └no─► plain and known? ─no─► the HTTP server, with the bytes from here on
 *
 * Invariant: it keeps no bytes between two events (a slow reader's bytes are in its socket), so a head in several pieces never waits here.
 * Owned by PollAcceptor.
 */

import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.js';
import { addressOf } from '../../net/front/client-address.js';
import type { Connections } from '../../net/front/connections.js';
import type { PollAnswer, PollAnswers } from './answer.js';
import { type PollHead, readPollHead } from './poll-head.js';

/** Answers to pipelined requests are written together up to this size, to which Node copies a text on its stack. */
const BATCH_BYTES = 16_384;
const END = '\r\n\r\n';

export interface PollConnectionParts {
  readonly answers: PollAnswers;
  readonly clock: Clock;
  readonly connections: Connections;
  /** Takes over the connection, which is paused, with its unread bytes unshifted. */
  onHandOver(socket: Socket): void;
  /** The connection has closed or was handed over. */
  onGone(poller: PollConnection): void;
}

export class PollConnection {
  /** Seconds since the last chunk; counted up by PollAcceptor. */
  idleSeconds = 0;
  readonly #socket: Socket;
  readonly #parts: PollConnectionParts;
  /** That of the last request. */
  #head: PollHead | null = null;
  #answer: PollAnswer | undefined;
  /** Whether the connection was handed over. */
  #isOver = false;

  /** @param socket paused, with its first bytes unshifted */
  constructor(socket: Socket, parts: PollConnectionParts) {
    this.#socket = socket;
    this.#parts = parts;
    socket.on('data', this.#read);
    socket.on('drain', this.#resumeSoon);
    socket.on('end', this.#end);
    socket.on('error', this.#fail);
    socket.on('close', this.#close);
    socket.resume();
  }

  /** Ends the connection once its answers are written; further requests are ignored. */
  end(): void {
    this.#socket.off('data', this.#read).resume();
    this.#socket.destroySoon();
  }

  drop(): void {
    this.#socket.destroy();
  }

  readonly #read = (chunk: Buffer): void => {
    const { watchdog } = this.#parts.clock;
    const startMs = watchdog.begin();
    this.idleSeconds = 0;
    this.#parts.connections.touch(this.#socket);
    this.#answerAll(chunk);
    if (watchdog.end('poll', startMs)) watchdog.blame(addressOf(this.#socket));
  };

  #answerAll(chunk: Buffer): void {
    const text = chunk.toString('latin1');
    const second = Math.floor(this.#parts.clock.wallMs() / 1000);
    let at = 0;
    while (at < text.length) {
      let out = '';
      do {
        if (!this.#isAgain(text, at) && !this.#understands(chunk, text, at)) {
          if (out !== '') this.#socket.write(out, 'latin1');
          this.#handOver(chunk.subarray(at));
          return;
        }
        out += this.#answer!.to(this.#head!, second);
        at += this.#head!.text.length;
      } while (at < text.length && out.length < BATCH_BYTES);
      const hasRoom = this.#socket.write(out, 'latin1');
      if (this.#head!.closes) {
        this.end();
        return;
      }
      if (hasRoom) continue;
      this.#socket.pause();
      if (at < text.length) this.#socket.unshift(chunk.subarray(at));
      return;
    }
  }

  /** Whether the last head is repeated at `at`. It ends with its only blank line, so no other head begins with it. */
  #isAgain(text: string, at: number): boolean {
    const head = this.#head;
    return (
      head !== null &&
      (at === 0 && text.length === head.text.length ? text === head.text : text.startsWith(head.text, at))
    );
  }

  /** Reads the head at `at`. False: it is not a plain poll, and goes to Node's HTTP server with all bytes after it. */
  #understands(chunk: Buffer, text: string, at: number): boolean {
    const blank = text.indexOf(END, at);
    if (blank < 0) return false;
    const end = blank + END.length;
    // A copy, since a slice would keep all of `text` in memory as long as the head.
    const head = readPollHead(chunk.toString('latin1', at, end));
    if (head === null || (head.closes && end < text.length)) return false;
    const answer = this.#parts.answers.of(head.target);
    if (answer === undefined) return false;
    this.#head = head;
    this.#answer = answer;
    return true;
  }

  #handOver(rest: Buffer): void {
    const socket = this.#socket;
    socket.off('data', this.#read);
    socket.off('drain', this.#resumeSoon);
    socket.off('end', this.#end);
    socket.off('error', this.#fail);
    socket.off('close', this.#close);
    this.#isOver = true;
    this.#parts.onGone(this);
    socket.pause();
    socket.unshift(rest);
    this.#parts.onHandOver(socket);
  }

  /** In the next turn, so that other connections are served between two batches of one chunk. */
  readonly #resumeSoon = (): void => {
    setImmediate(this.#resume);
  };

  readonly #resume = (): void => {
    if (!this.#isOver) this.#socket.resume();
  };

  /** The client has stopped sending; its requests are answered already. */
  readonly #end = (): void => {
    this.#socket.end();
  };

  /** The socket destroys itself; 'close' follows. */
  readonly #fail = (): void => undefined;

  readonly #close = (): void => {
    this.#parts.onGone(this);
  };
}
