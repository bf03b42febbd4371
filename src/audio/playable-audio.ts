/**
 * A channel's audio as its players see it: its tape, and facts for response heads and statistics. It is ChannelAudio in the process that feeds the
 * channel, and a copy in others (link/tapes/linked-audio.ts).
 */

import type { AudioTape } from './tape/audio-tape.js';
import type { Mark } from './tape/mark.js';

/** A title that took effect late. */
export interface LateTitle {
  /** The title before it. */
  readonly before: Mark | null;
  readonly mark: Mark;
  /** Its place: audio time on the tape, milliseconds. */
  readonly atMs: number;
}

/** Notifications of a channel's audio, made at once. Everything else can be read from the tape. */
export interface TapeObserver {
  /** Whether players hear what it makes of the tape: then, as while listeners play, no better suited tape replaces it. Absent: false. */
  readonly isHeard?: boolean;
  /** The tape has grown, perhaps by a closed segment. Called for every frame: only take note. */
  onGrown(): void;
  /** A title took effect at a place that listeners may have passed; the tape's closed segments have it already. */
  onLate(late: LateTitle): void;
  /** Over a link: titles of closed segments from this one on have changed. Absent: `onLate` suffices. */
  onRetitled?(seq: number): void;
  /** Over a link: the facts for heads and statistics have arrived. Absent: they change with the tape. */
  onFacts?(): void;
  /** New listeners start behind the present end of the tape. */
  onFence(): void;
  /** The tape has ended or was dropped; there is another one, or none. */
  onTape(): void;
}

/** Does nothing; but a tape keeps its whole lag while it is observed. */
export const IDLE_OBSERVER: TapeObserver = {
  onGrown: () => undefined,
  onLate: () => undefined,
  onFence: () => undefined,
  onTape: () => undefined,
};

export interface PlayableAudio {
  readonly key: string;
  readonly contentType: string;
  /** kb/s, the mean of its source's last minute; 0: unknown. */
  readonly bitrateKbps: number;
  /** Hertz, by the frames or the codec's headers; 0: unknown. A decoder may play AAC at twice this rate (SBR). */
  readonly sampleRate: number;
  /** Number of audio channels, by the same; 0: unknown. */
  readonly channels: number;
  /** Milliseconds of audio written to its tapes, for metrics. */
  readonly audioMs: number;
  /** How much later listeners hear audio than its source sends it, milliseconds. */
  readonly delayMs: number;
  /** How much audio waits, milliseconds; less than the delay after the loss of a source. */
  readonly delayedMs: number;
  /** Listeners on this channel, and those of them that play already (the audience writes both). */
  listeners: number;
  /** The tape may be replaced only while this is 0 and no observer is heard. */
  playing: number;
  /** Undefined until there is audio, and again after the tape was dropped. */
  readonly tape: AudioTape | undefined;
  /** It is unknown yet whether there is a tape, since it would come over a link. Absent: it is known. */
  readonly isComing?: boolean;
  /** Bytes between two ICY blocks; null: there is no tape, or its titles are only in the stream itself (Ogg). */
  readonly metaint: number | null;
  /** Whether a new listener can get audio now. */
  readonly hasSegments: boolean;
  /** Called when the first listener comes, and when the last one has left. */
  want(isWanted: boolean): void;
  /** When the audio at this time of the present tape arrived, monotonic milliseconds of this process. */
  arrivedMs(atMs: number): number;
  /** Balance with `unobserve`. */
  observe(observer: TapeObserver): void;
  unobserve(observer: TapeObserver): void;
}
