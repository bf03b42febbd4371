/**
 * Limits how often the peer of a TLS 1.3 connection may change its key (RFC 8446, 4.6.3). A change costs some 30 µs and is otherwise
 * invisible, since OpenSSL answers it within a read of the socket; only the key log has a line for each new key. Lines are counted, never
 * kept. Renegotiation, the counterpart in TLS 1.2, is refused (tls-options.ts).
 */

import type tls from 'node:tls';

/** Limit of a connection in a minute. A peer needs one in millions of records (RFC 8446, 5.5). */
export const MAX_KEY_UPDATES = 32;
const MINUTE_MS = 60_000;
/** Prefixes of key log lines for new keys. */
const CLIENT_KEY = 'CLIENT_TRAFFIC_SECRET_N ';
const SERVER_KEY = 'SERVER_TRAFFIC_SECRET_N ';

/** Closes connections whose client changes its key too often; `onExcess` is called first. */
export function limitClientKeys(server: tls.Server, onExcess: (socket: tls.TLSSocket) => void): void {
  const counts = new WeakMap<tls.TLSSocket, MinuteCount>();
  server.on('keylog', (line, socket) => {
    if (socket.destroyed || !begins(line, CLIENT_KEY)) return;
    let count = counts.get(socket);
    if (count === undefined) counts.set(socket, (count = new MinuteCount(MAX_KEY_UPDATES)));
    if (count.isWithin()) return;
    onExcess(socket);
    // By the next turn of the loop there could be thousands more.
    socket.destroy();
  });
}

/** Closes the connection to a server that changes its key too often. */
export function limitServerKeys(socket: tls.TLSSocket): void {
  const count = new MinuteCount(MAX_KEY_UPDATES);
  socket.on('keylog', (line) => {
    if (socket.destroyed || !begins(line, SERVER_KEY) || count.isWithin()) return;
    socket.destroy(new Error(`the server changes its TLS key more than ${MAX_KEY_UPDATES} times a minute`));
  });
}

/** Counts what a peer does in a minute. */
export class MinuteCount {
  readonly #most: number;
  #count = 0;
  #sinceMs = performance.now();

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts one. False: too many. */
  isWithin(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#sinceMs >= MINUTE_MS) {
      this.#count = 0;
      this.#sinceMs = nowMs;
    }
    return ++this.#count <= this.#most;
  }

  /** The last one does not count. */
  takeBack(): void {
    this.#count = Math.max(0, this.#count - 1);
  }
}

function begins(line: Buffer, label: string): boolean {
  return line.toString('latin1', 0, label.length) === label;
}
