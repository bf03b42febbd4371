/**
 * How fast encoders are refused for anything but their secret: no such mount, a mount in use, a type that is not taken. Within the limit of
 * their address they are answered at once. Past it each waits a second for its answer, since some come again at once and for ever (VLC when
 * it has lost its server: a thousand times a second). Wrong secrets have a pace of their own (net/limits/secret-gate.ts).
 *
 * Invariant: an encoder that waits is a connection like any other, and is forgotten when that closes. One for both acceptors.
 */

import type { Socket } from 'node:net';
import type { AlarmHandler, Clock, Ticker } from '../../base/clock.js';
import type { Notices } from '../../base/tally.js';
import { evenRate, Rate } from '../../net/limits/rate.js';

export interface RefusalPaceLimits {
  /** Refusals of one address (base/ip.ts: originOf) that are answered at once, a minute. */
  readonly perMinute: number;
  /** Addresses that are remembered. */
  readonly remembered: number;
}

const WAIT_MS = 1000;
/** At most this many are answered in one tick: a crowd that came at once must not block the loop. */
const MAX_PER_TICK = 50;

interface PacedRefusal {
  readonly dueMs: number;
  readonly onDue: () => void;
}

export class RefusalPace implements AlarmHandler {
  readonly #clock: Clock;
  readonly #ticker: Ticker;
  readonly #rate: Rate;
  /** The first to be answered first. */
  readonly #waiting = new Set<PacedRefusal>();

  /** @param notices of refusals, from and to the other processes */
  constructor(clock: Clock, limits: RefusalPaceLimits, notices?: Notices) {
    this.#clock = clock;
    this.#rate = new Rate(
      clock,
      evenRate(() => limits.perMinute, limits.remembered),
      notices,
    );
    this.#ticker = clock.everyTick(this);
  }

  /** Calls `onDue` at once, or in a second (later in a crowd) unless the connection has closed by then. What comes meanwhile is dropped. */
  refuse(origin: string, socket: Socket, onDue: () => void): void {
    if (this.#rate.take(origin) === 0) {
      onDue();
      return;
    }
    const waiting = { dueMs: this.#clock.now() + WAIT_MS, onDue };
    this.#waiting.add(waiting);
    this.#ticker.run();
    socket
      .on('error', () => undefined)
      .once('close', () => this.#waiting.delete(waiting))
      .resume();
  }

  onAlarm(nowMs: number): void {
    let room = MAX_PER_TICK;
    for (const waiting of this.#waiting) {
      if (waiting.dueMs > nowMs || room-- === 0) return;
      this.#waiting.delete(waiting);
      waiting.onDue();
    }
    this.#ticker.rest();
  }
}
