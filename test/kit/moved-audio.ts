/** A fake audio element whose clock tests move; each read moves it minimally unless it `standsStill`. Subclasses define what it plays. */

import type { AudioElement } from '../../src/client/types.js';

export class MovedAudio extends EventTarget implements AudioElement {
  preload = '';
  clock = () => 0;
  playbackRate = 1;
  readyState = 4;
  standsStill = false;
  paused = true;
  ended = false;
  seeking = false;
  buffered = { length: 0, end: () => 0 };
  #looks = 0;
  #src = '';

  get src(): string {
    return this.#src;
  }

  set src(url: string) {
    this.#src = url;
    this.paused = true;
    this.clock = () => 0;
  }

  get currentTime(): number {
    const seconds = this.clock();
    return seconds === 0 || this.standsStill ? seconds : seconds + 1e-9 * this.#looks++;
  }

  async play(): Promise<void> {
    if (!this.paused) return;
    this.paused = false;
    this.ended = false;
    this.#fire('play');
  }

  pause(): void {
    if (this.paused) return;
    this.paused = true;
    this.#fire('pause');
  }

  end(): void {
    this.paused = true;
    this.ended = true;
    this.#fire('pause');
  }

  moveTo(seconds: number): void {
    this.advance(() => seconds);
  }

  /** Continues with no more to play after that; an element with audio that stood still would count as broken. */
  advance(clock: () => number): void {
    this.clock = clock;
    this.readyState = 4;
    this.#fire('timeupdate');
    this.readyState = 2;
  }

  #fire(name: string): void {
    this.dispatchEvent(new Event(name));
  }
}
