/**
 * How fast encoders are refused for anything but their secret: no such mount, a mount in use, a type that is not taken. Within the limit of
 * their address they hear so at once; past it each waits a second for the answer, since some come again at once and for ever (VLC that has
 * lost its server: a thousand times a second). Wrong secrets have a pace of their own (secret-gate.ts).
 *
 * Invariant: whoever waits is a connection like others, which may be closed for them, and is forgotten with it.
 */

import type { Socket } from 'node:net';
import type { Clock } from '../clock.js';
import { Rate } from './rate.js';

export interface RefusalPaceLimits {
  /** Refusals of an address (rate.ts: originOf) that are answered at once, in a minute. */
  readonly perMinute: number;
  /** Addresses that are remembered. */
  readonly remembered: number;
}

const WAIT_MS = 1000;

export class RefusalPace {
  readonly #clock: Clock;
  readonly #rate: Rate;

  constructor(clock: Clock, { perMinute, remembered }: RefusalPaceLimits) {
    this.#clock = clock;
    this.#rate = new Rate(clock, { perMinute, burst: perMinute, remembered });
  }

  /** Calls `answer` at once, or in a second unless the connection has closed by then. What comes meanwhile is dropped. */
  refuse(origin: string, socket: Socket, answer: () => void): void {
    if (this.#rate.take(origin) === 0) {
      answer();
      return;
    }
    const alarm = this.#clock.alarm(this.#clock.now() + WAIT_MS, { ring: answer });
    socket
      .on('error', () => undefined)
      .once('close', () => alarm.cancel())
      .resume();
  }
}
