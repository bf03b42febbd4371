/**
 * An encoder that comes back before its old connection is known to be dead (cut on its side only, another network) finds its mount in use, by
 * itself. BUTT takes a refusal as final, and the channel stays off the air. So a newcomer with the User-Agent of the encoder that is there is
 * not refused at once: it waits until that one has sent something, is gone or may be replaced.
 *
 *   comes ──► waits ──► the other has sent something since ──► refused: there are two
 *               ├─────► the other is gone, or may be replaced ──► let in
 *               └─────► it goes away itself
 *
 * Invariant: it waits no longer than the other may be silent (`takeover`, `sources.bodyTimeoutSeconds`). Its secret was right, and what it
 * sends meanwhile is kept up to a bound. At a mount only a few wait, the newest: none that waits is closed for others (net/front/connections.ts), so
 * past the bound the oldest is refused. Used by EncoderAdmission.
 */

import type { Socket } from 'node:net';
import type { AlarmHandler, Clock, Ticker } from '../../base/clock.js';
import type { EncoderPlace } from '../../channel/mount.js';
import { ReadAhead } from '../../net/limits/judge.js';

/** What the other sent before it was cut may still arrive this long after the newcomer: that is not a sign of life. */
const UNDER_WAY_MS = 500;
/** At a mount: the encoder, another of its kind (a spare), and what is left of a connection that broke again. */
const MAX_WAITING = 4;

/** The encoder that feeds a mount, if there is one. */
type Present = Pick<EncoderPlace, 'isBusy' | 'agent' | 'quietMs'>;

/** Whether a newcomer with the right password may be the encoder that is there, on its way back. @param agent its User-Agent */
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
  /** Of each mount those that wait there, the oldest first. */
  readonly #waiting = new Map<Present, Set<ReturningEncoder>>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#ticker = clock.everyTick(this);
  }

  /**
   * Waits until it is clear whether the one that is there lives, or too many wait. The socket is paused, and is so again when
   * `onClear` is called; never when the newcomer has gone by then.
   * @param mostBytes that are read ahead @param onClear with what was read ahead
   */
  wait(socket: Socket, present: Present, mostBytes: number, onClear: (ahead: Buffer) => void): void {
    const all = this.#waiting.get(present) ?? new Set();
    this.#waiting.set(present, all);
    if (all.size === MAX_WAITING) [...all][0]!.clear();
    const ahead = new ReadAhead(socket, mostBytes, () => all.delete(waiting));
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

  /** Closes those that wait, without an answer: they try again. */
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
