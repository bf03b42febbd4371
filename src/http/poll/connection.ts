/**
 * One connection that polls, as long as it asks for nothing but plain polls. Each answer is one text that all share, written in the
 * order of the requests. With the first other byte the connection becomes Node's, for good: whatever was not answered is put back.
 *
 *   chunk ─► the same head again? ─yes─► answer, answer, …          once a second: idle too long? ─► closed
 *              └no─► plain and known? ─no─► the HTTP server, with the bytes from here on
 *
 * Invariant: it holds no bytes between two events (what waits for a slow reader waits in the socket), so a head that comes in pieces
 * never waits here. Owned by PollAcceptor.
 */

import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.js';
import type { Connections } from '../../net/front/connections.js';
import { addressOf } from '../../net/front/peer.js';
import type { PollAnswer, PollAnswers } from './answer.js';
import { type PollHead, readPollHead } from './head.js';

/** What is written in one go to a client that sends many requests ahead: up to here Node copies a text off its own stack. */
const BATCH_BYTES = 16_384;
const END = '\r\n\r\n';

export interface PollConnectionParts {
  readonly answers: PollAnswers;
  readonly clock: Clock;
  readonly connections: Connections;
  /** Takes the connection: it is paused, its unread bytes put back. */
  onHandOver(socket: Socket): void;
  /** It is not a poller any more. */
  onGone(poller: PollConnection): void;
}

export class PollConnection {
  /** Set to 0 by whatever comes from it; counted up by PollAcceptor. */
  idleSeconds = 0;
  readonly #socket: Socket;
  readonly #parts: PollConnectionParts;
  /** What it asked last, and the answer to that. */
  #head: PollHead | null = null;
  #answer: PollAnswer | undefined;
  /** The connection was handed over. */
  #isOver = false;

  /** @param socket paused, with what it has said put back */
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

  /** Ends the connection once what was answered is written; what still comes is ignored. */
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
      const goesOn = this.#socket.write(out, 'latin1');
      if (this.#head!.closes) {
        this.end();
        return;
      }
      if (goesOn) continue;
      this.#socket.pause();
      if (at < text.length) this.#socket.unshift(chunk.subarray(at));
      return;
    }
  }

  /** Whether the last head comes again here: it ends with the blank line and holds no other, so no other head begins like it. */
  #isAgain(text: string, at: number): boolean {
    const head = this.#head;
    return (
      head !== null &&
      (at === 0 && text.length === head.text.length ? text === head.text : text.startsWith(head.text, at))
    );
  }

  /** Reads the head that begins here. False: it is not for us, and neither is what follows. */
  #understands(chunk: Buffer, text: string, at: number): boolean {
    const blank = text.indexOf(END, at);
    if (blank < 0) return false;
    const end = blank + END.length;
    // Not a slice of `text`, which would stay in memory as long as the head.
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

  /** Not at once: a full chunk is a turn of the loop for each of its batches, however fast they are taken. */
  readonly #resumeSoon = (): void => {
    setImmediate(this.#resume);
  };

  readonly #resume = (): void => {
    if (!this.#isOver) this.#socket.resume();
  };

  /** It says nothing more; what it asked is answered already. */
  readonly #end = (): void => {
    this.#socket.end();
  };

  /** The socket destroys itself; 'close' follows. */
  readonly #fail = (): void => undefined;

  readonly #close = (): void => {
    this.#parts.onGone(this);
  };
}
