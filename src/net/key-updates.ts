/**
 * How often the other side of a TLS 1.3 connection may change its key (RFC 8446, 4.6.3): each time costs some 30 µs here, which no other limit
 * sees, since OpenSSL answers by itself, behind one read of the socket after the other. The only sign of it is the line of the key log, one for
 * each new key: it is counted, never kept. Renegotiations, the same of TLS 1.2, are refused (tls-options.ts).
 */

import type tls from 'node:tls';

/** Of one connection in a minute. A peer needs one in millions of records (RFC 8446, 5.5). */
export const MAX_KEY_UPDATES = 32;
const MINUTE_MS = 60_000;
/** How such lines begin. */
const CLIENT_KEY = 'CLIENT_TRAFFIC_SECRET_N ';
const SERVER_KEY = 'SERVER_TRAFFIC_SECRET_N ';

/** Closes the connections of clients that change their key more often; `onExcess` is called first. */
export function limitClientKeys(server: tls.Server, onExcess: (socket: tls.TLSSocket) => void): void {
  const counts = new WeakMap<tls.TLSSocket, KeyCount>();
  server.on('keylog', (line, socket) => {
    if (socket.destroyed || !begins(line, CLIENT_KEY)) return;
    let count = counts.get(socket);
    if (count === undefined) counts.set(socket, (count = new KeyCount()));
    if (count.isWithin()) return;
    onExcess(socket);
    // At once: in the next turn of the loop it would have had thousands more.
    socket.destroy();
  });
}

/** The same for the server that this socket of ours connects to. */
export function limitServerKeys(socket: tls.TLSSocket): void {
  const count = new KeyCount();
  socket.on('keylog', (line) => {
    if (socket.destroyed || !begins(line, SERVER_KEY) || count.isWithin()) return;
    socket.destroy(new Error(`the server changes its TLS key more than ${MAX_KEY_UPDATES} times a minute`));
  });
}

class KeyCount {
  #keys = 0;
  #sinceMs = performance.now();

  /** One more. False: it is one too many. */
  isWithin(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#sinceMs >= MINUTE_MS) {
      this.#keys = 0;
      this.#sinceMs = nowMs;
    }
    return ++this.#keys <= MAX_KEY_UPDATES;
  }
}

function begins(line: Buffer, label: string): boolean {
  return line.toString('latin1', 0, label.length) === label;
}
