/**
 * How often listeners are written to (`streams.writeSeconds`). Half as often costs little more than half, which pays off in a crowd; with few
 * listeners it would only delay titles.
 *
 *   listeners   0 ──── 1 s ────► 1,000 │ 2 s …       auto: back to 1 s below 750
 *                      750 │ ◄── 2 s ──
 *
 * A listener that was not given the extra audio is written to each second whatever the pace (audience.ts). Pure.
 */

export type WriteSeconds = 1 | 2;
export type WriteSetting = 'auto' | WriteSeconds;

/** Listeners of this process. */
const CROWD = 1000;
const CROWD_IS_OVER = 750;

export class Pace {
  readonly #setting: () => WriteSetting;
  #auto: WriteSeconds = 1;

  /** @param setting `streams.writeSeconds` */
  constructor(setting: () => WriteSetting) {
    this.#setting = setting;
  }

  /** Seconds between two writes to a listener. */
  get seconds(): WriteSeconds {
    const setting = this.#setting();
    return setting === 'auto' ? this.#auto : setting;
  }

  /** The number of listeners has changed. */
  count(listeners: number): void {
    if (listeners > CROWD) this.#auto = 2;
    else if (listeners < CROWD_IS_OVER) this.#auto = 1;
  }
}
