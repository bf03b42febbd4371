/**
 * How fast encoders are refused for anything but their secret: no such mount, a mount in use, a type that is not taken. Within the limit of
 * their address they are answered at once. Past it each waits a second for its answer, since some come again at once and for ever (VLC when
 * it has lost its server: a thousand times a second). Wrong secrets have a pace of their own (secret-gate.ts).
 *
 * Invariant: whoever waits is a connection like any other, and is forgotten when that closes. Owned by the network; one for both doors.
 */

import type { Socket } from 'node:net';
import type { Clock } from '../clock.js';
import { Rate } from './rate.js';

export interface RefusalPaceLimits {
  /** Refusals of one address (rate.ts: originOf) that are answered at once, a minute. */
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

  /** Calls `onDue` at once, or in a second unless the connection has closed by then. What it sends meanwhile is dropped. */
  refuse(origin: string, socket: Socket, onDue: () => void): void {
    if (this.#rate.take(origin) === 0) {
      onDue();
      return;
    }
    const alarm = this.#clock.alarm(this.#clock.now() + WAIT_MS, { ring: onDue });
    socket
      .on('error', () => undefined)
      .once('close', () => alarm.cancel())
      .resume();
  }
}
