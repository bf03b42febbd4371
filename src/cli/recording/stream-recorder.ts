/**
 * A listener's stream, over any number of connections, as whole frames with titles between them:
 *
 *   bytes ─► ICY blocks out ─► frames ─► audio(frame) audio(frame) title(…) audio(frame) …
 *
 * Invariant: MP3 and AAC are passed on as whole frames; a frame with a block in it belongs to the previous title. Ogg is passed on unchanged. Owned
 * by record-command.ts.
 */

import { Framer } from '../../audio/frames/framer.js';
import { Reservoir } from '../../audio/frames/reservoir.js';
import type { PieceSink } from '../../source/body.js';
import { IcyStripper } from '../../source/strip.js';

export interface RecordedParts {
  /** The next audio; the bytes are valid only during the call. */
  audio(bytes: Buffer, durationMs: number): void;
  /** Another title begins here. */
  title(title: string): void;
}

export class StreamRecorder implements PieceSink {
  readonly #parts: RecordedParts;
  readonly #isFramed: boolean;
  readonly #reservoir = new Reservoir();
  #framer: Framer | null = null;
  #stripper = new IcyStripper(0);
  #title = '';
  /** A title whose place is in the incomplete frame. */
  #next: string | null = null;

  /** @param isFramed MP3 or AAC */
  constructor(parts: RecordedParts, isFramed: boolean) {
    this.#parts = parts;
    this.#isFramed = isFramed;
  }

  /** Another connection begins. @param metaint the header's value */
  connected(metaint: unknown): void {
    this.#stripper = new IcyStripper(metaint);
    this.#next = null;
    if (!this.#isFramed) return;
    this.#reservoir.cut();
    this.#framer = new Framer({ onFrame: ({ bytes, durationMs }) => this.#frame(bytes, durationMs) });
  }

  push(chunk: Buffer): void {
    this.#stripper.read(chunk, this);
  }

  /** Part of PieceSink. */
  onAudio(piece: Buffer): void {
    if (this.#framer === null) this.#parts.audio(piece, 0);
    else this.#framer.push(piece);
  }

  /** Part of PieceSink. */
  onTitle(title: string): void {
    if (title === (this.#next ?? this.#title)) return;
    if (this.#framer !== null && this.#framer.state.kept.length > 0) this.#next = title;
    else this.#begin(title);
  }

  #frame(bytes: Buffer, durationMs: number): void {
    this.#parts.audio(this.#reservoir.mend(bytes), durationMs);
    if (this.#next !== null) this.#begin(this.#next);
  }

  #begin(title: string): void {
    this.#next = null;
    this.#title = title;
    this.#parts.title(title);
  }

  /** The following audio is in a file of its own. */
  cut(): void {
    this.#reservoir.cut();
  }
}
