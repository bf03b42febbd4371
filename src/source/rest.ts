/**
 * Lets a channel's file stand still while nobody hears it (Source.rest): what is on air, and has not been read for `restMs`, or never, is asked until
 * it rests, and woken when it is read, or must not rest any more. Owned by the switch.
 */

import type { Clock } from '../base/clock.js';
import type { Input, InputOptions } from './input.js';
import type { SwitchOutput } from './switch-output.js';

export interface RestParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly options: Pick<InputOptions, 'restMs'>;
  readonly output: Pick<SwitchOutput, 'onRest' | 'isEmpty'>;
  onAir(): Input | null;
}

export class Rest {
  readonly #parts: RestParts;
  /** Since when nobody has read the channel's audio, on the clock; +∞: it is read; -∞: nobody ever has. */
  #unreadSinceMs = Number.NEGATIVE_INFINITY;

  constructor(parts: RestParts) {
    this.#parts = parts;
  }

  /** Whether the channel's audio is read, by listeners or for others. */
  read(isRead: boolean): void {
    if (isRead === (this.#unreadSinceMs === Number.POSITIVE_INFINITY)) return;
    const nowMs = this.#parts.clock.now();
    this.#unreadSinceMs = isRead ? Number.POSITIVE_INFINITY : nowMs;
    this.look(nowMs);
  }

  /** Another source is on air: before its first frame. */
  changed(nowMs: number): void {
    const { options, output, onAir } = this.#parts;
    // Who reads it already has nothing: behind a rest, if only of an instant, all that a listener begins with comes at once.
    const isAwaited = this.#unreadSinceMs === Number.POSITIVE_INFINITY && output.isEmpty;
    if (isAwaited && options.restMs !== Number.POSITIVE_INFINITY && onAir()?.rest()) output.onRest(true);
    this.look(nowMs);
  }

  /** Now and then. */
  look(nowMs: number): void {
    const { options, output, onAir } = this.#parts;
    const input = onAir();
    if (input === null) return;
    // Of -∞ and +∞ the sum is not a number, and never past: what must not rest does not.
    const mayRest = this.#unreadSinceMs + options.restMs <= nowMs;
    if (mayRest === (input.source.isResting === true)) return;
    if (mayRest && !input.rest()) return;
    output.onRest(mayRest);
    if (!mayRest) input.wake();
  }
}
