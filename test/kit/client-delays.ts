/**
 * Measures the delays of well-behaved clients of a server: of answers by /healthz, requested every 20 ms, and listeners' longest time without
 * audio. The machine's own delays are subtracted (machine-delay.ts), so that the figure is the server's.
 */

import http from 'node:http';
import type { Test } from 'tap';
import type { MachineDelay } from './machine-delay.js';
import { until } from './until.js';

const EVERY_MS = 20;
const AT_ONCE = 20;
/** Time-out for a server that hangs. */
const PATIENCE_MS = 60_000;

export class ClientDelays {
  /** The longest delay of /healthz, and the longest time without audio, since `reset`. */
  healthMs = 0;
  gapMs = 0;
  /** Number of failed requests. */
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

  /** The present moment, for `sinceMs`. */
  get mark(): { readonly atMs: number; readonly stoodMs: number } {
    return { atMs: performance.now(), stoodMs: this.#machine.totalMs };
  }

  /** Milliseconds since a mark, without the machine's delays. */
  sinceMs(mark: { readonly atMs: number; readonly stoodMs: number }): number {
    return performance.now() - mark.atMs - Math.max(0, this.#machine.totalMs - mark.stoodMs);
  }

  /** A listener got audio, after this long without. */
  onGap(ms: number): void {
    this.gapMs = Math.max(this.gapMs, ms);
  }

  reset(): void {
    this.healthMs = this.gapMs = this.failures = 0;
  }

  /** Waits until all requests are answered. */
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
