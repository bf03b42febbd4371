/**
 * How often listeners are written to (`streams.writeSeconds`): half as often costs little more than half. In a crowd it counts, among few it
 * would only make titles come onto the wire later.
 *
 *   listeners   0 ──── 1 s ────► 1,000 │ 2 s …       auto: a crowd that shrinks is one until 750
 *                      750 │ ◄── 2 s ──
 *
 * It says what a crowd would have; a listener that was not given the audio for it has a second all the same (audience.ts). Pure.
 */

export type WriteSeconds = 1 | 2;

/** Listeners of this process: more are a crowd, and fewer are no longer one. */
const CROWD = 1000;
const CROWD_IS_OVER = 750;

export class Pace {
  readonly #isFixed: boolean;
  #seconds: WriteSeconds;

  /** @param setting `streams.writeSeconds` */
  constructor(setting: 'auto' | WriteSeconds) {
    this.#isFixed = setting !== 'auto';
    this.#seconds = setting === 'auto' ? 1 : setting;
  }

  /** Between two writes to a listener. */
  get seconds(): WriteSeconds {
    return this.#seconds;
  }

  /** How many listeners are there now. */
  count(listeners: number): void {
    if (this.#isFixed) return;
    if (listeners > CROWD) this.#seconds = 2;
    else if (listeners < CROWD_IS_OVER) this.#seconds = 1;
  }
}
