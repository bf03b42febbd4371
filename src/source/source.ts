/**
 * The port of everything that feeds a channel: encoder, pull, file. A source is created with the input that it feeds, delivers whole
 * frames to it, and reports its end as a value; the switch (switch.ts) decides which source is on air.
 * A source never throws once it is created, and does not depend on listeners, rules of titles or HTTP.
 */

import type { AudioFormat } from '../audio/frames/audio-format.js';
import type { Frame } from '../audio/frames/frame.js';
import type { SourceFacts } from './source-facts-schema.js';

export type SourceKind = 'encoder' | 'pull' | 'file';

/** idle: not asked for, or not connected. starting: trying to get audio. up: connected, audio may flow at any moment. */
export type SourceState = 'idle' | 'starting' | 'up';

/**
 * A title as a source sends it: the line in its stream or, if sent beside the stream, its parts, clean (metadata/text.ts). `separator` is the text
 * between artist and song; absent: the default.
 */
export type SourceTitle =
  | string
  | {
      readonly artist: string;
      readonly song: string;
      readonly separator?: string;
      readonly cover: string;
      /** As in a track; absent: unknown. */
      readonly album?: string;
      /** Only a file's titles have these. */
      readonly durationSeconds?: number;
      readonly id?: string;
    };

/** The receiver of a source's audio and titles; one for each source, owned by the switch. */
export interface SourceInput {
  /** When more is due, on the clock (audio-due-time.ts); -∞: nothing has arrived since the last loss. */
  readonly dueMs: number;
  /** How far the channel's audio is ahead of real time, milliseconds; less than 0: gaps have put it behind. */
  readonly aheadMs: number;
  /** In stream order. Returns for how many milliseconds the source must not be read, since the channel is too far ahead of real time (0: go on). */
  onFrame(frame: Frame): number;
  /**
   * A title at exactly this place in the stream. The source must not deliver the following frames before this resolves: the title is
   * committed first, so that its mark has the same place on the tape as in the stream. Never rejects.
   */
  onTitle(title: SourceTitle): Promise<void>;
  /** It is connected: audio is expected from here on. */
  onUp?(): void;
  /** The audio has ended or is not available. The source keeps trying by itself (or waits for an encoder). */
  onLost(reason: string): void;
}

export interface Source {
  readonly kind: SourceKind;
  readonly state: SourceState;
  /** `audio/mpeg`, `audio/mp2`, `audio/aac` or `audio/ogg` once known from the frames, else undefined. */
  readonly contentType: string | undefined;
  /** A name of the sender, the same after a reconnect. Undefined: there is none, or it sends no titles. */
  readonly sender?: string | undefined;
  /** The format that it will play, if known in advance, as for a file. */
  readonly format?: AudioFormat | null;
  /** Determines that format. */
  look?(): void;
  /** The facts that it states about itself; undefined: none, or it is not connected. */
  readonly facts?: SourceFacts | undefined;
  /** How long after its latest frame it may be filling an Ogg page, milliseconds; undefined or 0: it sends each frame at once. */
  readonly pageMs?: number;
  /** Begins (again) to get audio. Idempotent. */
  start(): void;
  /**
   * Nobody hears it: it delivers at most the audio that shows its format and bitrate, if it has not yet, then nothing until `wake`, and resumes
   * where it stopped. False: it cannot stop here, and is asked again. Absent: it always goes on.
   */
  rest?(): boolean;
  readonly isResting?: boolean;
  /** Idempotent. */
  wake?(): void;
  /** Releases everything; nothing is delivered afterwards. Idempotent; `start` may follow. */
  stop(): void;
}

/** What the switch knows about a source beyond the port. */
export interface SourceSettings {
  readonly onDemand: boolean;
  readonly lingerMs: number;
  /** How long after the end of its audio the source on air is waited for, in silence, before the next one takes over. */
  readonly returnMs: number;
  /** The bitrate that it should have by configuration; 0: none is configured. */
  readonly bitrateKbps: number;
}
