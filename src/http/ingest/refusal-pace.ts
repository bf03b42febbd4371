/**
 * Slows down refusals of encoders for anything but their secret: no such mount, a mount in use, an unsupported format. Within the limit of
 * their address they are answered at once. Past it each waits a second for its answer, since some reconnect at once and forever (VLC after
 * losing its server: a thousand times a second). Wrong secrets have a pace of their own (net/limits/secret-gate.ts).
 *
 * Invariant: a waiting encoder is a connection like any other, and is forgotten when it closes. Both acceptors share one pace.
 */

import type { Socket } from 'node:net';
import type { AlarmHandler, Clock, Ticker } from '../../base/clock.js';
import type { Notices } from '../../base/tally.js';
import { evenRate, Rate } from '../../net/limits/rate.js';

export interface RefusalPaceLimits {
  /** Refusals per minute of one address (base/ip.ts: originOf) that are sent at once. */
  readonly perMinute: number;
  /** Limit on remembered addresses. */
  readonly remembered: number;
}

const WAIT_MS = 1000;
/** Maximum number answered in one tick, so that a crowd that arrived at once does not block the event loop. */
const MAX_PER_TICK = 50;

interface PacedRefusal {
  readonly dueMs: number;
  readonly onDue: () => void;
}

export class RefusalPace implements AlarmHandler {
  readonly #clock: Clock;
  readonly #ticker: Ticker;
  readonly #rate: Rate;
  /** In the order in which they are due. */
  readonly #waiting = new Set<PacedRefusal>();

  /** @param notices exchange refusals with the other processes */
  constructor(clock: Clock, limits: RefusalPaceLimits, notices?: Notices) {
    this.#clock = clock;
    this.#rate = new Rate(
      clock,
      evenRate(() => limits.perMinute, limits.remembered),
      notices,
    );
    this.#ticker = clock.everyTick(this);
  }

  /** Calls `onDue` at once, or after a second (later in a crowd) unless the connection has closed by then. Bytes that come meanwhile are dropped. */
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
