/**
 * The readers of a channel's tape: its listeners, from an instant before they join, and observers, which pass it on to others (playable-audio.ts).
 * While there are any, the tape keeps its whole lag. Owned by its PlayableAudio; a frame costs a look at a list that is mostly empty.
 */

import type { LateTitle, TapeObserver } from '../playable-audio.js';

export class TapeReaders implements TapeObserver {
  /** Whether there are listeners, or will be in an instant. */
  isWanted = false;
  /** Number of observers that are heard. */
  #heard = 0;
  readonly #observers: TapeObserver[] = [];

  get isNone(): boolean {
    return !this.isWanted && this.#observers.length === 0;
  }

  /** Whether any observer is heard (TapeObserver). */
  get isHeard(): boolean {
    return this.#heard > 0;
  }

  add(observer: TapeObserver): void {
    if (observer.isHeard) this.#heard++;
    this.#observers.push(observer);
  }

  remove(observer: TapeObserver): void {
    const index = this.#observers.indexOf(observer);
    if (index < 0) return;
    if (observer.isHeard) this.#heard--;
    this.#observers.splice(index, 1);
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
