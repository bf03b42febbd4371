/**
 * TLS handshakes, begun one after another for at most SLICE_MS a turn of the event loop: one costs half a millisecond and more, and a
 * stranger can ask for hundreds with one packet each. First come, first served; whoever is done with waiting is taken out.
 */

import { performance } from 'node:perf_hooks';

const SLICE_MS = 2;

export class HandshakeQueue {
  readonly #waiting = new Set<() => void>();
  #isGoing = false;

  /** @param begin is called once, in a later turn, unless it is removed before */
  add(begin: () => void): void {
    this.#waiting.add(begin);
    if (this.#isGoing) return;
    this.#isGoing = true;
    setImmediate(this.#turn);
  }

  /** Of one that has been begun nothing is left to remove. */
  remove(begin: () => void): void {
    this.#waiting.delete(begin);
  }

  readonly #turn = (): void => this.#beginUntil(performance.now() + SLICE_MS);

  #beginUntil(endMs: number): void {
    const [begin] = this.#waiting;
    if (begin === undefined) {
      this.#isGoing = false;
      return;
    }
    this.#waiting.delete(begin);
    begin();
    // Node reads what has come already, and answers it, in a tick of its own after the start.
    process.nextTick(() => {
      if (performance.now() < endMs) this.#beginUntil(endMs);
      else setImmediate(this.#turn);
    });
  }
}
