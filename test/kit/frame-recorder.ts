/**
 * Follows what a Player receives, frame by frame: the sample rate of the newest frames, the places where frames do not join, and whether a
 * real-time player would ever have run dry. Sources have different sample rates.
 */

import type { Test } from 'tap';
import { FrameWalk } from '../../bench/frames.js';
import { Framer } from '../../src/audio/frames/framer.js';
import type { Player } from './player.js';

export class FrameRecorder {
  hertz = 0;
  /** When frames of the present rate were first received (monotonic ms). */
  sinceMs = 0;
  /** The least audio in the buffer of a player that has played in real time since its first byte. */
  minHandMs = Number.POSITIVE_INFINITY;
  readonly #player: Player;
  #audioMs = 0;
  #done = 0;
  readonly #walk = new FrameWalk();
  readonly #framer: Framer = new Framer({
    onFrame: ({ durationMs }) => {
      this.#audioMs += durationMs;
      if (this.#framer.sampleRate === this.hertz) return;
      this.hertz = this.#framer.sampleRate;
      this.sinceMs = performance.now();
    },
  });

  /** @param player must keep its audio */
  constructor(t: Test, player: Player) {
    this.#player = player;
    const timer = setInterval(() => this.listen(), 50);
    t.teardown(() => clearInterval(timer));
  }

  listen(): void {
    const audio = this.#player.audioFrom(this.#done);
    if (this.#audioMs > 0) {
      this.minHandMs = Math.min(this.minHandMs, this.#audioMs - (performance.now() - this.#player.firstByteMs));
    }
    this.#done += audio.length;
    this.#framer.push(audio);
    if (audio.length > 0) this.#walk.feed(audio, 0, audio.length);
  }

  /** Number of places where a frame does not join the previous one, such as at a switch of sources. */
  get breaks(): number {
    return this.#walk.breaks;
  }

  /** Number of whole frames so far. */
  get frames(): number {
    return this.#walk.frames;
  }
}

/** Number of bytes after the last whole frame. */
export function leftover(audio: Buffer): number {
  // The tag in place of the first frame (audio/tape/entry.ts) is shorter than 16 KiB.
  let left = audio.length - (audio.toString('latin1', 0, 3) === 'ID3' ? 10 + audio[8]! * 128 + audio[9]! : 0);
  new Framer({ onFrame: ({ bytes: frame }) => void (left -= frame.length) }).push(audio);
  return left;
}
