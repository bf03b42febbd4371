/**
 * What a channel's source sends while another machine feeds the channel still, and this one may be about to (cluster/README.md): kept from its first
 * frame on, so that none is lost while the tape is asked for. Owned by one Channel. All times are monotonic milliseconds.
 */

import { type Frame, type KeptFrame, keepFrame } from '../audio/frames/frame.js';

/** What has not got onto the tape in this time comes too late: listeners had other audio meanwhile. */
export const MAX_COMING_MS = 5000;

export class ComingFrames {
  #frames: KeptFrame[] = [];
  /** -∞: nothing is kept. */
  #sinceMs = Number.NEGATIVE_INFINITY;
  #isOpen = false;

  /** Whether frames are to be pushed. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Another source is on air here: it may be what all wait for. */
  begin(nowMs: number): void {
    this.#frames = [];
    this.#sinceMs = nowMs;
    this.#isOpen = true;
  }

  /** This machine is about to feed the channel, or is still. */
  keep(nowMs: number): void {
    if (this.#sinceMs === Number.NEGATIVE_INFINITY) this.begin(nowMs);
  }

  /** It is not, and who listens has had the other machine's audio until `heardMs`. */
  pass(heardMs: number, nowMs: number): void {
    if (this.#sinceMs === Number.NEGATIVE_INFINITY) return;
    if (nowMs - this.#sinceMs > MAX_COMING_MS) this.take();
    else this.#frames = this.#frames.filter(({ arrivedMs }) => arrivedMs > heardMs);
  }

  /** Copies the frame. How many come in the time is the source's pace, and `aheadSeconds`. While it is open. */
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
