/**
 * Cuts recordings out of a listener's stream, each beginning at the place of a title:
 *
 *   frames     │ f │ f │ f │ f │ f │ f │ f │ f │ …        frames of the last KEPT_MS are kept, since titles may come late
 *   recording          └─ from: title − before ──► length
 *
 * Invariant: a recording consists of whole frames and begins within half a frame of its place. Owned by measure-offset.ts.
 */

import { Framer } from '../../audio/frames/framer.js';
import { Reservoir } from '../../audio/frames/reservoir.js';

/** How late a title may come. */
const KEPT_MS = 120_000;

interface PlacedFrame {
  readonly bytes: Buffer;
  readonly startMs: number;
  readonly endMs: number;
}

export interface Recording<T> {
  readonly title: T;
  readonly audio: Buffer;
  readonly lengthMs: number;
}

class OpenRecording<T> {
  readonly title: T;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly #frames: Buffer[] = [];
  /** Supplies bytes from before the first frame. */
  readonly #reservoir = new Reservoir();
  #lengthMs = 0;

  constructor(title: T, fromMs: number, untilMs: number) {
    this.title = title;
    this.fromMs = fromMs;
    this.untilMs = untilMs;
    this.#reservoir.cut();
  }

  /** Adds a frame. True: the recording is complete. */
  add({ bytes, startMs, endMs }: PlacedFrame): boolean {
    if ((startMs + endMs) / 2 < this.fromMs) return false;
    this.#frames.push(this.#reservoir.mend(bytes));
    this.#lengthMs += endMs - startMs;
    return endMs >= this.untilMs;
  }

  close(): Recording<T> {
    return { title: this.title, audio: Buffer.concat(this.#frames), lengthMs: this.#lengthMs };
  }
}

export class OffsetRecorder<T> {
  readonly #beforeMs: number;
  readonly #lengthMs: number;
  readonly #onRecording: (recording: Recording<T>) => void;
  readonly #framer: Framer;
  readonly #frames: PlacedFrame[] = [];
  #open: OpenRecording<T>[] = [];
  #endMs = 0;

  /** @param beforeMs recorded audio before a title's place @param lengthMs audio from there on */
  constructor(beforeMs: number, lengthMs: number, onRecording: (recording: Recording<T>) => void) {
    this.#beforeMs = beforeMs;
    this.#lengthMs = lengthMs;
    this.#onRecording = onRecording;
    this.#framer = new Framer({ onFrame: ({ bytes, durationMs }) => this.#frame(bytes, durationMs) });
  }

  get codec(): string | undefined {
    return this.#framer.codec;
  }

  /** The next bytes of a stream without ICY. */
  push(bytes: Buffer): void {
    this.#framer.push(bytes);
  }

  /** A title took effect. @param positionMs of its place, from the stream's first byte */
  title(title: T, positionMs: number): void {
    const recording = new OpenRecording(title, positionMs - this.#beforeMs, positionMs + this.#lengthMs);
    if (this.#frames.some((frame) => recording.add(frame))) this.#onRecording(recording.close());
    else this.#open.push(recording);
  }

  /** Ends all incomplete recordings. */
  end(): void {
    for (const recording of this.#open.splice(0)) this.#onRecording(recording.close());
  }

  #frame(bytes: Buffer, durationMs: number): void {
    const startMs = this.#endMs;
    this.#endMs += durationMs;
    const frame = { bytes: Buffer.from(bytes), startMs, endMs: this.#endMs };
    this.#frames.push(frame);
    while (this.#endMs - this.#frames[0]!.endMs > KEPT_MS) this.#frames.shift();
    this.#open = this.#open.filter((recording) => {
      const isWhole = recording.add(frame);
      if (isWhole) this.#onRecording(recording.close());
      return !isWhole;
    });
  }
}
