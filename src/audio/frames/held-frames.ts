/**
 * Frames that arrived while it was unknown whether this machine still feeds the channel: the process had stalled, or its lease could not be renewed
 * (cluster/README.md). They go onto the tape once that is known, or never. Owned by one ChannelAudio.
 */

import { type Frame, type KeptFrame, keepFrame } from './frame.js';

/** How long that may be unknown (cluster/tapes/feeding-time.ts), and a little more. Past it the oldest frames are dropped. */
export const MAX_HELD_MS = 5000;

export class HeldFrames {
  /** Frames are held from this moment on, monotonic milliseconds; +∞: never. */
  fromMs = Number.POSITIVE_INFINITY;
  /** Frames were dropped: the next one does not continue the tape. */
  hasGap = false;
  #frames: KeptFrame[] = [];
  #heldMs = 0;

  get isEmpty(): boolean {
    return this.#frames.length === 0;
  }

  /** Keeps a copy of a frame. */
  push(frame: Frame, arrivedMs: number): void {
    this.#frames.push(keepFrame(frame, arrivedMs));
    this.#heldMs += frame.durationMs;
    while (this.#heldMs > MAX_HELD_MS && this.#frames.length > 1) {
      this.#heldMs -= this.#frames.shift()!.durationMs;
      this.hasGap = true;
    }
  }

  /** Removes and returns all of them, in order. */
  take(): readonly KeptFrame[] {
    const frames = this.#frames;
    this.#frames = [];
    this.#heldMs = 0;
    return frames;
  }

  drop(): void {
    if (this.take().length > 0) this.hasGap = true;
  }
}
