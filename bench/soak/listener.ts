/**
 * A listener of the soak on a raw socket, checked by a Reader from its first byte to its last. All listeners share one receive buffer, since a
 * Reader is done with its bytes before the next read. Owned by bench/soak/listeners.ts.
 */

import { connect, type Socket } from 'node:net';
import { Reader } from '../reader.js';

const RECEIVE_BYTES = 65_536;
const shared = Buffer.allocUnsafeSlow(RECEIVE_BYTES);

export interface ListenerPlan {
  readonly port: number;
  /** Path of the stream, with its query. */
  readonly path: string;
  readonly isIcy: boolean;
  /** Its loopback address. */
  readonly from: string;
}

export class Listener {
  readonly path: string;
  readonly reader: Reader;
  bytes = 0;
  /** Why its connection ended early. */
  ending: string | undefined;
  #isClosed = false;
  readonly #socket: Socket;

  constructor({ port, path, isIcy, from }: ListenerPlan) {
    this.path = path;
    this.reader = new Reader({ icy: isIcy, frames: true });
    this.#socket = connect({
      host: '127.0.0.1',
      port,
      localAddress: from,
      onread: { buffer: shared, callback: (length) => this.#take(length) },
    });
    this.#socket.once('error', (error: NodeJS.ErrnoException) => this.#end(error.code ?? error.message));
    this.#socket.once('close', () => this.#end('closed by the server'));
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUser-Agent: airsplice-soak\r\n${isIcy ? 'Icy-MetaData: 1\r\n' : ''}\r\n`,
    );
  }

  /** The fault of its received data; undefined: none. */
  get fault(): string | undefined {
    const { refusal, firstFault, icyErrors, breaks } = this.reader;
    if (refusal !== undefined) return refusal;
    return icyErrors + breaks > 0 ? firstFault : undefined;
  }

  /** Received audio, at the demo's 128 kb/s. */
  get sentMs(): number {
    return this.reader.audioBytes / 16;
  }

  /** Stops reading until `resume`. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(how: 'end' | 'reset' | 'destroy' = 'destroy'): void {
    this.#isClosed = true;
    if (how === 'reset') this.#socket.resetAndDestroy();
    else if (how === 'destroy') this.#socket.destroy();
    else {
      this.#socket.end();
      // Even if the server keeps a half-closed connection.
      setTimeout(() => this.#socket.destroy(), 2_000);
    }
  }

  #take(length: number): boolean {
    this.bytes += length;
    this.reader.push(shared, length);
    return true;
  }

  #end(reason: string): void {
    if (!this.#isClosed) this.ending ??= reason;
  }
}
