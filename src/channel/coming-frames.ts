/**
 * The frames that a channel's source sends while another machine still feeds the channel, and this one may be about to (cluster/README.md). They are
 * kept from the first one on, so that none is lost while the lease is requested. Owned by one Channel. All times are monotonic milliseconds.
 */

import { type Frame, type KeptFrame, keepFrame } from '../audio/frames/frame.js';

/** Frames that do not reach the tape in this time are too late: listeners got other audio meanwhile. */
export const MAX_COMING_MS = 5000;

export class ComingFrames {
  #frames: KeptFrame[] = [];
  /** When the first kept frame may have arrived; -∞: none is kept. */
  #sinceMs = Number.NEGATIVE_INFINITY;
  #isOpen = false;

  /** Whether frames should be pushed. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Another source is on air here: it may be the one that the channel waits for. */
  begin(nowMs: number): void {
    this.#frames = [];
    this.#sinceMs = nowMs;
    this.#isOpen = true;
  }

  /** This machine is about to feed the channel, or still does. */
  keep(nowMs: number): void {
    if (this.#sinceMs === Number.NEGATIVE_INFINITY) this.begin(nowMs);
  }

  /** It is not, and listeners have had the other machine's audio until `heardMs`. */
  pass(heardMs: number, nowMs: number): void {
    if (this.#sinceMs === Number.NEGATIVE_INFINITY) return;
    if (nowMs - this.#sinceMs > MAX_COMING_MS) this.take();
    else this.#frames = this.#frames.filter(({ arrivedMs }) => arrivedMs > heardMs);
  }

  /** Keeps a copy of the frame, while it is open. The pace of the source and `aheadSeconds` limit how many arrive in the time. */
  push(frame: Frame, nowMs: number): void {
    if (nowMs - this.#sinceMs <= MAX_COMING_MS) {
      this.#frames.push(keepFrame(frame, nowMs));
      return;
    }
    this.#frames = [];
    this.#isOpen = false;
  }

  /** Removes and returns all of them, in order. Further frames are not kept. */
  take(): readonly KeptFrame[] {
    const frames = this.#frames;
    this.#frames = [];
    this.#sinceMs = Number.NEGATIVE_INFINITY;
    this.#isOpen = false;
    return frames;
  }
}
