/**
 * Who reads a channel's tape: its listeners, or an instant before they come, and observers, which pass it on to others (playable-audio.ts).
 * While there are any, the tape keeps all of its lag. Owned by its PlayableAudio; per frame it costs a look at a list that is empty.
 */

import type { LateTitle, TapeObserver } from '../playable-audio.js';

export class TapeReaders implements TapeObserver {
  /** Whether anybody listens. */
  isWanted = false;
  /** Of the observers. */
  #heard = 0;
  readonly #observers: TapeObserver[] = [];

  get isNone(): boolean {
    return !this.isWanted && this.#observers.length === 0;
  }

  /** As TapeObserver has it, of any. */
  get isHeard(): boolean {
    return this.#heard > 0;
  }

  add(observer: TapeObserver): void {
    if (observer.isHeard) this.#heard++;
    this.#observers.push(observer);
  }

  remove(observer: TapeObserver): void {
    const place = this.#observers.indexOf(observer);
    if (place < 0) return;
    if (observer.isHeard) this.#heard--;
    this.#observers.splice(place, 1);
  }

  onGrown(): void {
    for (let i = 0; i < this.#observers.length; i++) this.#observers[i]!.onGrown();
  }

  onLate(late: LateTitle): void {
    for (const observer of this.#observers) observer.onLate(late);
  }

  onRetitled(seq: number): void {
    for (const observer of this.#observers) observer.onRetitled?.(seq);
  }

  onFacts(): void {
    for (const observer of this.#observers) observer.onFacts?.();
  }

  onFence(): void {
    for (const observer of this.#observers) observer.onFence();
  }

  onTape(): void {
    for (const observer of this.#observers) observer.onTape();
  }
}
