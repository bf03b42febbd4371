/**
 * What well-behaved clients of a server wait: /healthz asked every 20 ms, each answer's delay, and for listeners the longest
 * time without audio. The machine's own delays are subtracted (machine-delay.ts), so that the figure is the server's.
 */

import http from 'node:http';
import type { Test } from 'tap';
import type { MachineDelay } from './machine-delay.js';
import { until } from './until.js';

const EVERY_MS = 20;
const AT_ONCE = 20;
/** Of a server that has hung altogether. */
const PATIENCE_MS = 60_000;

export class ClientDelays {
  /** The longest answer of /healthz, and the longest time without audio, since `reset`. */
  healthMs = 0;
  gapMs = 0;
  /** Answers that were none. */
  failures = 0;
  readonly #machine: MachineDelay;
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });
  readonly #port: number;
  #open = 0;
  #asked = 0;
  #answered = 0;

  constructor(t: Test, port: number, machine: MachineDelay) {
    this.#port = port;
    this.#machine = machine;
    const timer = setInterval(() => this.#open < AT_ONCE && this.#ask(), EVERY_MS);
    t.teardown(() => {
      clearInterval(timer);
      this.#agent.destroy();
    });
  }

  /** What a moment is, for `sinceMs`. */
  get mark(): { readonly atMs: number; readonly stoodMs: number } {
    return { atMs: performance.now(), stoodMs: this.#machine.totalMs };
  }

  /** Milliseconds since a mark in which the machine did its part. */
  sinceMs(mark: { readonly atMs: number; readonly stoodMs: number }): number {
    return performance.now() - mark.atMs - Math.max(0, this.#machine.totalMs - mark.stoodMs);
  }

  /** A listener has got audio, and this long nothing before. */
  onGap(ms: number): void {
    this.gapMs = Math.max(this.gapMs, ms);
  }

  reset(): void {
    this.healthMs = this.gapMs = this.failures = 0;
  }

  /** Waits until all that was asked is answered. */
  async settled(): Promise<void> {
    const asked = this.#asked;
    await until(
      () => this.#answered >= asked,
      PATIENCE_MS,
      () => `/healthz has not answered for ${PATIENCE_MS} ms`,
    );
  }

  #ask(): void {
    this.#open++;
    this.#asked++;
    const mark = this.mark;
    const over = (failed: boolean) => {
      if (failed) this.failures++;
      else this.healthMs = Math.max(this.healthMs, this.sinceMs(mark));
      this.#answered++;
      this.#open--;
    };
    http
      .get({ host: '127.0.0.1', port: this.#port, path: '/healthz', agent: this.#agent }, (response) => {
        response.resume().on('end', () => over(response.statusCode !== 200));
      })
      .on('error', () => over(true));
  }
}
