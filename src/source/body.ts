/** What the audio of a connection stands in: the body of an encoder's request (dechunk.ts), ICY blocks of an upstream (strip.ts). */

import type { SourceTitle } from './source.js';

/** `more` goes on; `end`: it is complete; `broken`: it says what cannot be. After these two no audio is given out any more. */
export type BodyState = 'more' | 'end' | 'broken';

export interface PieceSink {
  /** The next audio, in as many pieces as there are; valid only during the call. */
  onAudio(piece: Buffer): void;
  /** The title that stands here. */
  onTitle(title: SourceTitle): void;
}

export interface StreamBody {
  readonly state: BodyState;
  /**
   * Takes bytes as they came, at least one. Returns how many. Where titles may stand in them these are SLICE_BYTES at most, and end before a title
   * that has audio before it, and behind any other: what is behind a title is not taken before that is committed.
   */
  push(bytes: Buffer, sink: PieceSink): number;
}
