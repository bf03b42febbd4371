/**
 * Judges the secrets of connections and requests at the gate (secret-gate.ts), which may have to wait. In the table of connections they
 * are pending, and proven once the secret was right, so that a push or an encoder under way is not closed for newcomers. A client that
 * disconnects meanwhile leaves the queue; an encoder is read ahead up to a bound, the body of an HTTP request is not read.
 */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections } from '../front/connections.js';
import type { SecretGate } from './secret-gate.js';
import type { SecretVerdict } from './secret-queue.js';

const NOTHING = Buffer.alloc(0);

export interface Judged {
  readonly verdict: SecretVerdict;
  readonly retrySeconds: number;
}

/** The gate for secrets and the table of connections. */
export interface Judges {
  readonly gate: SecretGate;
  readonly connections: Connections;
}

/**
 * Judges the secret of a connection that bypasses the HTTP server. The socket is paused, now and when `onJudged` is called: at once, or at its
 * turn; never if the connection has ended by then.
 * @param maxBytes read ahead at most @param onJudged with the bytes read ahead
 */
export function judgeConnection(
  { gate, connections }: Judges,
  origin: string,
  socket: Socket,
  maxBytes: number,
  compare: () => boolean,
  onJudged: (judged: Judged, ahead: Buffer) => void,
): void {
  let ahead: ReadAhead | null = null;
  // It stays begun until it closes or is admitted.
  if (!connections.begin(socket, true)) return;
  const waiting = gate.check(origin, compare, (verdict, retrySeconds) => {
    if (verdict === 'right') connections.prove(socket);
    onJudged({ verdict, retrySeconds }, ahead?.stop() ?? NOTHING);
  });
  if (waiting !== null) ahead = new ReadAhead(socket, maxBytes, () => waiting.leave());
}

/** Judges the secret of a request. `onJudged` is called at once, or at its turn; never if the connection has ended by then. */
export function judgeRequest(
  { gate, connections }: Judges,
  origin: string,
  response: ServerResponse,
  compare: () => boolean,
  onJudged: (judged: Judged) => void,
): void {
  const { socket } = response;
  const waiting = gate.check(origin, compare, (verdict, retrySeconds) => {
    if (verdict === 'right' && socket !== null) connections.prove(socket);
    onJudged({ verdict, retrySeconds });
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
