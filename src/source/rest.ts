/**
 * Lets a channel's file stand still while nobody hears it (Source.rest): what is on air, and has not been read for `restMs`, is asked until it rests,
 * and woken when it is read again, or must not rest any more. Owned by the switch.
 */

import type { Clock } from '../base/clock.js';
import type { Input, InputOptions } from './input.js';
import type { SwitchOutput } from './switch-output.js';

export interface RestParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly options: Pick<InputOptions, 'restMs'>;
  readonly output: Pick<SwitchOutput, 'onRest'>;
  onAir(): Input | null;
}

export class Rest {
  readonly #parts: RestParts;
  /** Since when nobody has read the channel's audio, on the clock; +∞: it is read. */
  #unreadSinceMs: number;

  constructor(parts: RestParts) {
    this.#parts = parts;
    this.#unreadSinceMs = parts.clock.now();
  }

  /** Whether the channel's audio is read, by listeners or for others. */
  read(isRead: boolean): void {
    if (isRead === (this.#unreadSinceMs === Number.POSITIVE_INFINITY)) return;
    const nowMs = this.#parts.clock.now();
    this.#unreadSinceMs = isRead ? Number.POSITIVE_INFINITY : nowMs;
    this.look(nowMs);
  }

  /** Now and then. */
  look(nowMs: number): void {
    const { options, output, onAir } = this.#parts;
    const input = onAir();
    if (input === null) return;
    const mayRest = nowMs - this.#unreadSinceMs >= options.restMs;
    if (mayRest === (input.source.isResting === true)) return;
    if (mayRest && !input.rest()) return;
    output.onRest(mayRest);
    if (!mayRest) input.wake();
  }
}
