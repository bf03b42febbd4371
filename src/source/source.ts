/**
 * The port of everything that feeds a channel: encoder, pull, file. A source is made with the input it feeds, delivers whole
 * frames into it, and reports an ending as a value; which source is on air is decided by the switch (switch.ts).
 * A source never throws after it was made, and knows nothing of listeners, titles' rules or HTTP answers.
 */

import type { AudioFormat } from '../audio/frames/audio-format.js';
import type { Frame } from '../audio/frames/frame.js';
import type { SourceFacts } from './source-facts.js';

export type SourceKind = 'encoder' | 'pull' | 'file';

/** idle: not asked for, or not connected. starting: trying to get audio. up: connected, audio may flow at any moment. */
export type SourceState = 'idle' | 'starting' | 'up';

/**
 * A title as a source sends it: the line that stands in its stream, or, sent beside the stream, its parts, clean (metadata/text.ts). `separator` is
 * what stood between artist and song; absent: the default.
 */
export type SourceTitle =
  | string
  | {
      readonly artist: string;
      readonly song: string;
      readonly separator?: string;
      readonly cover: string;
      /** As in a track; these only a file's titles have. */
      readonly album?: string;
      readonly durationSeconds?: number;
      readonly id?: string;
    };

/** What a source is given to feed; one for each source, owned by the switch. */
export interface SourceInput {
  /** When more is due, on the clock (audio-due-time.ts); -∞: nothing has come since the last loss. */
  readonly dueMs: number;
  /** How far what the channel plays is ahead of real time, milliseconds; less than 0: gaps have put it behind. */
  readonly aheadMs: number;
  /** In stream order. Returns for how many milliseconds the source must not be read, since the channel is too far ahead of real time (0: go on). */
  onFrame(frame: Frame): number;
  /**
   * A title that stands in the stream at exactly this place. The source must not deliver the following frames before this
   * resolves: the title is committed first, so that its mark lies on the tape where the upstream put it. Never rejects.
   */
  onTitle(title: SourceTitle): Promise<void>;
  /** It is connected: audio is expected from here on. */
  onUp?(): void;
  /** The audio has ended or could not be had. The source goes on trying by itself (or waits for an encoder). */
  onLost(reason: string): void;
}

export interface Source {
  readonly kind: SourceKind;
  readonly state: SourceState;
  /** `audio/mpeg`, `audio/aac` or `audio/ogg` once known from the frames, else undefined. */
  readonly contentType: string | undefined;
  /** A name of the sender, the same when it connects again. Undefined: there is none, or it has no titles. */
  readonly sender?: string | undefined;
  /** What it will play, as far as that is known before it does: of a file. */
  readonly format?: AudioFormat | null;
  /** Finds that out. */
  look?(): void;
  /** What it says of itself; undefined: nothing, or it is not connected. */
  readonly facts?: SourceFacts | undefined;
  /** How long after its latest frame it may be filling an Ogg page, milliseconds; undefined or 0: it sends what it has. */
  readonly pageMs?: number;
  /** Begins (again) to get audio. Idempotent. */
  start(): void;
  /**
   * Nobody hears it: at most what shows its format and bitrate is delivered, if that has not come yet, and then nothing until `wake`; then it goes on
   * behind what it has delivered. False: it cannot stop here; to be asked again. Absent: it always goes on.
   */
  rest?(): boolean;
  readonly isResting?: boolean;
  /** Idempotent. */
  wake?(): void;
  /** Releases everything; nothing is delivered afterwards. Idempotent; `start` may follow. */
  stop(): void;
}

/** What the switch must know of a source beyond the port. */
export interface SourceSettings {
  readonly onDemand: boolean;
  readonly lingerMs: number;
  /** How long after the end of its audio the source on air is waited for, in silence, before the next one takes over. */
  readonly returnMs: number;
  /** The bitrate that it should have by configuration; 0: none is configured. */
  readonly bitrateKbps: number;
}
