/** What contains the audio of a connection: the body of an encoder's request (dechunk.ts), or an upstream's body with ICY blocks (strip.ts). */

import type { SourceTitle } from './source.js';

/** `more`: it continues; `end`: it is complete; `broken`: it is malformed. After the last two no more audio comes out. */
export type BodyState = 'more' | 'end' | 'broken';

export interface PieceSink {
  /** The next piece of audio; valid only during the call. */
  onAudio(piece: Buffer): void;
  /** A title at this place in the audio. */
  onTitle(title: SourceTitle): void;
}

export interface StreamBody {
  readonly state: BodyState;
  /**
   * Takes bytes, at least one, and returns how many. If they may contain titles, it takes SLICE_BYTES at most, and stops before a title that follows
   * audio, or after any other: what follows a title is not taken before the title is committed.
   */
  push(bytes: Buffer, sink: PieceSink): number;
}
