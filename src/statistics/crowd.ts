/**
 * Connections that have something in common: their number, and figures since the last `take`. Plain fields, changed when a connection joins or
 * leaves.
 *
 *   listenedMs    ∑ count × time since the last change
 */

import { Sketch } from './sketch.js';

/** Figures since the last `take`. */
export interface CrowdFigures {
  readonly begun: number;
  readonly ended: number;
  readonly endedMs: number;
  readonly listenedMs: number;
  readonly peak: number;
  readonly sketch: Sketch;
}

export class Crowd {
  count: number;
  begun: number;
  sketch = new Sketch();
  #ended = 0;
  #endedMs = 0;
  #listenedMs = 0;
  #peak: number;
  #sinceMs: number;

  /** @param count connections at the start @param begun how many of them count as begun */
  constructor(nowMs: number, count = 0, begun = 0) {
    this.count = count;
    this.begun = begun;
    this.#peak = count;
    this.#sinceMs = nowMs;
  }

  /** Listening since the last `take`, up to the last `join` or `leave`. */
  get listenedMs(): number {
    return this.#listenedMs;
  }

  join(nowMs: number): void {
    this.#settle(nowMs);
    this.begun++;
    if (++this.count > this.#peak) this.#peak = this.count;
  }

  leave(nowMs: number, lastedMs: number): void {
    this.#settle(nowMs);
    this.count--;
    this.#ended++;
    this.#endedMs += lastedMs;
  }

  /** Resets all figures but `count`. */
  take(nowMs: number): CrowdFigures {
    this.#settle(nowMs);
    const { begun, sketch } = this;
    const taken = {
      begun,
      ended: this.#ended,
      endedMs: this.#endedMs,
      listenedMs: this.#listenedMs,
      peak: this.#peak,
      sketch,
    };
    this.begun = this.#ended = this.#endedMs = this.#listenedMs = 0;
    this.#peak = this.count;
    this.sketch = new Sketch();
    return taken;
  }

  #settle(nowMs: number): void {
    this.#listenedMs += this.count * (nowMs - this.#sinceMs);
    this.#sinceMs = nowMs;
  }
}
