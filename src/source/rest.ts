/**
 * Lets a channel's file rest while it has no listeners (Source.rest). A source on air whose audio was not read for `restMs`, or never, is asked to
 * rest until it does, and is woken when it is read, or may not rest any more. Owned by the switch.
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
  /** Since when the channel's audio has been unread, on the clock; +∞: it is read; -∞: it was never read. */
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

  /** Another source is on air; called before its first frame. */
  changed(nowMs: number): void {
    const { options, output, onAir } = this.#parts;
    // Present readers have no audio: after a rest, however short, the audio with which a listener begins arrives at once.
    const isAwaited = this.#unreadSinceMs === Number.POSITIVE_INFINITY && output.isEmpty;
    if (isAwaited && options.restMs !== Number.POSITIVE_INFINITY && onAir()?.rest()) output.onRest(true);
    this.look(nowMs);
  }

  /** Called now and then. */
  look(nowMs: number): void {
    const { options, output, onAir } = this.#parts;
    const input = onAir();
    if (input === null) return;
    // The sum of -∞ and +∞ is NaN, which is never past: a source that may not rest does not.
    const mayRest = this.#unreadSinceMs + options.restMs <= nowMs;
    if (mayRest === (input.source.isResting === true)) return;
    if (mayRest && !input.rest()) return;
    output.onRest(mayRest);
    if (!mayRest) input.wake();
  }
}
