/**
 * Judges secrets: asks the gate (secret-gate.ts) about connections and requests, and keeps those that have to wait for their turn. In the
 * table of connections they are pending, and proven once the secret was right, so that a push or an encoder under way is not closed for
 * newcomers. A client that goes meanwhile leaves the queue; what an encoder sends meanwhile is kept up to a bound, and what is more stays
 * in the network. A body of HTTP is not read at all: nothing asks for it.
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

/** Where a secret is compared, and where its connection stands. */
export interface Judges {
  readonly gate: SecretGate;
  readonly connections: Connections;
}

/**
 * Asks about the secret of a connection that no HTTP server reads. The socket is paused, and is so again when `onJudged` is called: at
 * once, or once it was its turn; never when the connection has ended by then.
 * @param mostBytes that are read ahead @param onJudged with what was read ahead
 */
export function judgeConnection(
  { gate, connections }: Judges,
  origin: string,
  socket: Socket,
  mostBytes: number,
  compare: () => boolean,
  onJudged: (judged: Judged, ahead: Buffer) => void,
): void {
  let ahead: ReadAhead | null = null;
  // Until it closes, or is admitted.
  if (!connections.begin(socket, true)) return;
  const waiting = gate.check(origin, compare, (verdict, retrySeconds) => {
    if (verdict === 'right') connections.prove(socket);
    onJudged({ verdict, retrySeconds }, ahead?.stop() ?? NOTHING);
  });
  if (waiting !== null) ahead = new ReadAhead(socket, mostBytes, () => waiting.leave());
}

/** Asks about the secret of a request. `onJudged` is called at once, or once it was its turn; never when the connection has ended by then. */
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
 * Reads a connection that waits, so that its end is seen. Then it is destroyed, and `onGone` is called once. Past `mostBytes` it is read no
 * further before `stop`.
 */
export class ReadAhead {
  readonly #socket: Socket;
  readonly #mostBytes: number;
  readonly #onGone: () => void;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(socket: Socket, mostBytes: number, onGone: () => void) {
    this.#socket = socket;
    this.#mostBytes = mostBytes;
    this.#onGone = onGone;
    socket.on('data', this.#take).on('end', this.#drop).on('error', this.#drop).on('close', this.#drop).resume();
  }

  /** The socket is its owner's again, paused. Returns what has come. */
  stop(): Buffer {
    this.#socket.off('data', this.#take).off('end', this.#drop).off('error', this.#drop).off('close', this.#drop);
    this.#socket.pause();
    return Buffer.concat(this.#chunks);
  }

  readonly #take = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= this.#mostBytes) this.#socket.pause();
  };

  readonly #drop = (): void => {
    this.stop();
    this.#socket.on('error', () => undefined).destroy();
    this.#onGone();
  };
}
