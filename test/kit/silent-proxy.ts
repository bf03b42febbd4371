/**
 * A TCP proxy in front of a local port that can fall silent: connections stay open and new ones are accepted, but nothing passes, not even their
 * ends.
 */

import net from 'node:net';
import type { Test } from 'tap';

/** From the client, or back to it. */
export type Way = 'there' | 'back';

interface Pair {
  readonly there: net.Socket;
  readonly back: net.Socket;
}

export class SilentProxy {
  readonly port: number;
  readonly #to: number;
  readonly #pairs = new Set<Pair>();
  readonly #silent = new Set<Way>();

  private constructor(t: Test, port: number, to: number) {
    this.port = port;
    this.#to = to;
    t.teardown(() => {
      for (const { there, back } of this.#pairs) for (const socket of [there, back]) socket.destroy();
    });
  }

  static async open(t: Test, port: number, to: number): Promise<SilentProxy> {
    const proxy = new SilentProxy(t, port, to);
    const server = net.createServer({ allowHalfOpen: true }, (client) => proxy.#take(client));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    t.teardown(() => server.close());
    return proxy;
  }

  /** Stops all traffic, in both directions or in one. */
  silence(...ways: readonly Way[]): void {
    for (const way of ways.length === 0 ? (['there', 'back'] as const) : ways) this.#silent.add(way);
    this.#look();
  }

  /** Resumes; held data passes, as after retransmissions. */
  pass(): void {
    this.#silent.clear();
    this.#look();
  }

  #take(client: net.Socket): void {
    const pair: Pair = { there: client, back: net.connect({ port: this.#to, host: '127.0.0.1', allowHalfOpen: true }) };
    this.#pairs.add(pair);
    for (const [from, to, way] of [
      [pair.there, pair.back, 'there'],
      [pair.back, pair.there, 'back'],
    ] as const) {
      from.on('error', () => undefined).on('data', (bytes) => to.write(bytes));
      from.on('end', () => to.end());
      from.on('close', () => {
        if (!this.#silent.has(way)) to.destroy();
      });
    }
    this.#lookAt(pair);
  }

  #look(): void {
    for (const pair of this.#pairs) this.#lookAt(pair);
  }

  #lookAt(pair: Pair): void {
    for (const [from, to, way] of [
      [pair.there, pair.back, 'there'],
      [pair.back, pair.there, 'back'],
    ] as const) {
      if (this.#silent.has(way)) from.pause();
      else if (from.destroyed) to.destroy();
      else from.resume();
    }
  }
}
