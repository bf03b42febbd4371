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
export type WriteSetting = 'auto' | WriteSeconds;

/** Listeners of this process: more are a crowd, and fewer are no longer one. */
const CROWD = 1000;
const CROWD_IS_OVER = 750;

export class Pace {
  readonly #setting: () => WriteSetting;
  /** Of a crowd, or not. */
  #auto: WriteSeconds = 1;

  /** @param setting `streams.writeSeconds` */
  constructor(setting: () => WriteSetting) {
    this.#setting = setting;
  }

  /** Between two writes to a listener. */
  get seconds(): WriteSeconds {
    const setting = this.#setting();
    return setting === 'auto' ? this.#auto : setting;
  }

  /** How many listeners are there now. */
  count(listeners: number): void {
    if (listeners > CROWD) this.#auto = 2;
    else if (listeners < CROWD_IS_OVER) this.#auto = 1;
  }
}
