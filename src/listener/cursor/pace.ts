/**
 * How often listeners are written to (`streams.writeSeconds`). A quarter as often costs little more than half, which pays off in a crowd; with few
 * listeners it would only delay them.
 *
 *   listeners   0 ──── 1 s ────► 1,000 │ 4 s …       auto: back to 1 s below 750
 *                      750 │ ◄── 4 s ──
 *
 * How seldom a listener can be written to depends on the extra audio that it was given when it joined (audience.ts). Pure.
 */

import type { AudioTape } from '../../audio/tape/audio-tape.js';

/** Seconds between two writes. */
export const WRITE_SECONDS = [1, 2, 4] as const;
export type WriteSeconds = (typeof WRITE_SECONDS)[number];
export type WriteSetting = 'auto' | WriteSeconds;

/** The most bytes given to a socket at once, for each second between two writes: a listener catches up at 2 Mb/s. */
const MAX_BYTES_PER_SECOND = 256 * 1024;

/** Listeners of this process; one over TLS counts twice, as it costs (bench/README.md). */
const CROWD = 1000;
const CROWD_IS_OVER = 750;

export class Pace {
  readonly #setting: () => WriteSetting;
  #auto: WriteSeconds = 1;

  /** @param setting `streams.writeSeconds` */
  constructor(setting: () => WriteSetting) {
    this.#setting = setting;
  }

  get seconds(): WriteSeconds {
    const setting = this.#setting();
    return setting === 'auto' ? this.#auto : setting;
  }

  /** The number of listeners has changed. @param listeners those over TLS twice */
  count(listeners: number): void {
    if (listeners > CROWD) this.#auto = 4;
    else if (listeners < CROWD_IS_OVER) this.#auto = 1;
  }
}

/**
 * The extra audio that a listener needs beyond its burst to be written to this seldom, milliseconds: no player then holds less than with a write
 * each second.
 */
export function extraMsFor(seconds: WriteSeconds): number {
  return (seconds - 1) * 1000;
}

/** Maximum number of segments written at once. */
export function maxSegments(tape: AudioTape, seconds: WriteSeconds): number {
  return Math.ceil(MAX_BYTES_PER_SECOND / tape.segmentBytes) * seconds;
}

/** The number of segments from `cursor` on that are kept back: those at the live edge, with the last `heldBackMs` of audio. */
export function heldBackSegments(tape: AudioTape, cursor: number, heldBackMs: number): number {
  let seq = tape.head;
  while (seq > cursor && tape.edgeMs - tape.at(seq - 1)!.startMs <= heldBackMs) seq--;
  return tape.head - seq;
}
