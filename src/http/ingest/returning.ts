/**
 * An encoder that reconnects before its old connection is known to be dead (cut on its side only, another network) finds its mount in use, by
 * itself. BUTT treats a refusal as final, and the channel would stay off the air. So a newcomer with the User-Agent of the present encoder is
 * not refused at once: it waits until the present one has sent something, is gone or may be replaced.
 *
 *   connects ──► waits ──► the other has sent something since ──► refused: there are two
 *                  ├─────► the other is gone, or may be replaced ──► admitted
 *                  └─────► it disconnects
 *
 * Invariant: it waits no longer than the other may be silent (`takeover`, `sources.bodyTimeoutSeconds`). Its secret was right, and bytes that it
 * sends meanwhile are kept up to a limit. Only the newest MAX_WAITING wait at a mount: past that the oldest is refused, since waiting connections
 * are not closed to make room (net/front/connections.ts). Used by EncoderAdmission.
 */

import type { Socket } from 'node:net';
import type { AlarmHandler, Clock, Ticker } from '../../base/clock.js';
import type { EncoderSlot } from '../../channel/mount.js';
import { ReadAhead } from '../../net/limits/judge.js';

/** Bytes that the other sent before it was cut may arrive this long after the newcomer: they are not a sign of life. */
const UNDER_WAY_MS = 500;
/** At a mount: the encoder, a spare with the same program, and remains of connections that broke again. */
const MAX_WAITING = 4;

/** The present encoder of a mount, if there is one. */
type Present = Pick<EncoderSlot, 'isBusy' | 'agent' | 'quietMs'>;

/** Whether a newcomer with the right password may be the present encoder, reconnecting. @param agent the newcomer's User-Agent */
export function isReturning(agent: string, present: Present): boolean {
  return present.isBusy && agent !== '' && agent === present.agent;
}

interface ReturningEncoder {
  readonly sinceMs: number;
  /** Ends the wait. */
  readonly clear: () => void;
  /** Ends the connection. */
  readonly drop: () => void;
}

export class ReturningEncoders implements AlarmHandler {
  readonly #clock: Clock;
  readonly #ticker: Ticker;
  /** The waiting encoders of each mount, the oldest first. */
  readonly #waiting = new Map<Present, Set<ReturningEncoder>>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#ticker = clock.everyTick(this);
  }

  /**
   * Waits until it is clear whether the present encoder is alive, or too many wait. The socket is paused, and again when `onClear` is called, unless
   * the newcomer has gone by then. @param maxBytes maximum to read ahead @param onClear gets the bytes read ahead
   */
  wait(socket: Socket, present: Present, maxBytes: number, onClear: (ahead: Buffer) => void): void {
    const all = this.#waiting.get(present) ?? new Set();
    this.#waiting.set(present, all);
    if (all.size === MAX_WAITING) [...all][0]!.clear();
    const ahead = new ReadAhead(socket, maxBytes, () => all.delete(waiting));
    const clear = () => {
      all.delete(waiting);
      onClear(ahead.stop());
    };
    const drop = () => {
      all.delete(waiting);
      ahead.stop();
      socket.on('error', () => undefined).destroy();
    };
    const waiting = { sinceMs: this.#clock.now(), clear, drop };
    all.add(waiting);
    this.#ticker.run();
  }

  /** Closes waiting connections without an answer, so that encoders retry. */
  close(): void {
    for (const all of this.#waiting.values()) for (const { drop } of all) drop();
  }

  onAlarm(nowMs: number): void {
    let isNeeded = false;
    for (const [present, all] of this.#waiting) {
      for (const { sinceMs, clear } of all) {
        const lives = present.quietMs + UNDER_WAY_MS < nowMs - sinceMs;
        if (!present.isBusy || lives) clear();
      }
      isNeeded ||= all.size > 0;
    }
    if (!isNeeded) this.#ticker.rest();
  }
}
