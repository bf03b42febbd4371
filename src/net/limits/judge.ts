/**
 * Judges the secrets of connections and requests at the gate (secret-gate.ts), which may have to wait. In the table of connections they
 * are pending, and proven once the secret was right, so that a push or an encoder under way is not closed for newcomers. A client that
 * disconnects meanwhile leaves the queue; an encoder is read ahead up to a bound, the body of an HTTP request is not read.
 */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections } from '../front/connections.js';
import type { SecretGate } from './secret-gate.js';
import type { CompareSecret, SecretVerdict, WaitingSecret } from './secret-queue.js';

const NOTHING = Buffer.alloc(0);

export interface Judged {
  readonly verdict: SecretVerdict;
  readonly retrySeconds: number;
}

/** Asks others whether a secret is right; null: unknown. Never rejects. */
export type AskSecret = () => Promise<boolean | null>;

/** The gate for secrets and the table of connections. */
export interface Judges {
  readonly gate: SecretGate;
  readonly connections: Connections;
}

/**
 * Judges the secret of a connection that bypasses the HTTP server. The socket is paused, now and when `onJudged` is called: at once, at its turn,
 * or when `ask` resolves; never if the connection has ended by then.
 * @param maxBytes read ahead at most @param onJudged with the bytes read ahead @param ask called if `compare` returns null
 */
export function judgeConnection(
  { gate, connections }: Judges,
  origin: string,
  socket: Socket,
  maxBytes: number,
  compare: CompareSecret,
  onJudged: (judged: Judged, ahead: Buffer) => void,
  ask?: AskSecret | null,
): void {
  let ahead: ReadAhead | null = null;
  let waiting: WaitingSecret | null = null;
  let isGone = false;
  // It stays begun until it closes or is admitted.
  if (!connections.begin(socket, true)) return;
  const readAhead = () => {
    ahead ??= new ReadAhead(socket, maxBytes, () => {
      isGone = true;
      waiting?.leave();
    });
  };
  const decided = (verdict: SecretVerdict, retrySeconds: number) => {
    if (verdict === 'right') connections.prove(socket);
    onJudged({ verdict, retrySeconds }, ahead?.stop() ?? NOTHING);
  };
  waiting = gate.check(origin, compare, (verdict, retrySeconds) => {
    if (verdict !== 'unknown' || !ask) return decided(verdict, retrySeconds);
    readAhead();
    void ask().then((isRight) => {
      gate.settle(origin, isRight);
      if (!isGone) decided(isRight === null ? 'unknown' : isRight ? 'right' : 'wrong', 0);
    });
  });
  if (waiting !== null) readAhead();
}

/** Judges the secret of a request, as judgeConnection. `onJudged` is called once; not if the connection ends while the secret waits for its turn. */
export function judgeRequest(
  { gate, connections }: Judges,
  origin: string,
  response: ServerResponse,
  compare: CompareSecret,
  onJudged: (judged: Judged) => void,
  ask?: AskSecret | null,
): void {
  const { socket } = response;
  const decided = (verdict: SecretVerdict, retrySeconds: number) => {
    if (verdict === 'right' && socket !== null) connections.prove(socket);
    onJudged({ verdict, retrySeconds });
  };
  const waiting = gate.check(origin, compare, (verdict, retrySeconds) => {
    if (verdict !== 'unknown' || !ask) return decided(verdict, retrySeconds);
    void ask().then((isRight) => {
      gate.settle(origin, isRight);
      // Even if the client has gone: a page may be closed as soon as its form is sent.
      decided(isRight === null ? 'unknown' : isRight ? 'right' : 'wrong', 0);
    });
  });
  if (waiting !== null) response.once('close', () => waiting.leave());
}

/**
 * Reads a waiting connection up to `maxBytes`, so that its end is noticed: then it is destroyed and `onGone` called once.
 */
export class ReadAhead {
  readonly #socket: Socket;
  readonly #maxBytes: number;
  readonly #onGone: () => void;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(socket: Socket, maxBytes: number, onGone: () => void) {
    this.#socket = socket;
    this.#maxBytes = maxBytes;
    this.#onGone = onGone;
    socket.on('data', this.#take).on('end', this.#drop).on('error', this.#drop).on('close', this.#drop).resume();
  }

  /** Gives the socket back, paused. Returns the bytes read. */
  stop(): Buffer {
    this.#socket.off('data', this.#take).off('end', this.#drop).off('error', this.#drop).off('close', this.#drop);
    this.#socket.pause();
    return Buffer.concat(this.#chunks);
  }

  readonly #take = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= this.#maxBytes) this.#socket.pause();
  };

  readonly #drop = (): void => {
    this.stop();
    this.#socket.on('error', () => undefined).destroy();
    this.#onGone();
  };
}
