/**
 * A channel's audio as those see it who play it to listeners: its tape, and what heads and statistics say of it. In the process that feeds
 * the channel it is ChannelAudio; in another one it is what came from there.
 */

import type { AudioTape } from './tape/audio-tape.js';
import type { Mark } from './tape/mark.js';

/** Where on the tape a title took effect that came late. */
export interface LateTitle {
  /** The title before it. */
  readonly before: Mark | null;
  readonly mark: Mark;
  /** Audio time on the tape, milliseconds. */
  readonly atMs: number;
}

/** What happens to a channel's audio, at once. All else can be read from the tape. */
export interface TapeObserver {
  /** Players hear what it makes of the tape: as while listeners play, none begins that would suit the source better. Absent: they do not. */
  readonly isHeard?: boolean;
  /** More audio came onto the tape, and perhaps a segment was closed. For every frame, so it only takes note. */
  onGrown(): void;
  /** A title took effect at a place of which listeners may have been sent more; the tape's closed segments have it by now. */
  onLate(late: LateTitle): void;
  /** Titles of closed segments from this one on have changed, as they came over a link. Absent: `onLate` says it. */
  onRetitled?(seq: number): void;
  /** What heads and statistics say of it has come over a link. Absent: it changes with the tape. */
  onFacts?(): void;
  /** Listeners begin behind what lies on the tape so far. */
  onFence(): void;
  /** There is another tape, or none: the one before is over, or was dropped. */
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
  /** kb/s, the mean of its source's last minute; 0: not known. */
  readonly bitrateKbps: number;
  /** Hertz, as the frames or the codec's headers say it; 0: not known. What a decoder plays of AAC may be twice as much (SBR). */
  readonly sampleRate: number;
  /** How many audio channels, by the same; 0: not known. */
  readonly channels: number;
  /** Milliseconds of audio that went onto its tapes, for metrics. */
  readonly audioMs: number;
  /** How much later listeners hear what its source sends, milliseconds. */
  readonly delayMs: number;
  /** How much audio waits, milliseconds: a source that was lost has shortened it. */
  readonly delayedMs: number;
  /** How many listeners are on this channel, and how many of them have begun to play (the audience writes both). */
  listeners: number;
  /** Only while none plays, and no observer is heard, may the tape be replaced. */
  playing: number;
  /** Undefined until there is audio, and again after the tape was dropped. */
  readonly tape: AudioTape | undefined;
  /** Whether there is a tape is not known yet: it would come over a link. Absent: it is known. */
  readonly isComing?: boolean;
  /** Bytes between two ICY blocks; null: there is no tape, or its titles stand in the stream itself (Ogg) and nowhere else. */
  readonly metaint: number | null;
  /** Whether a listener could be given audio from the tape right now. */
  readonly hasSegments: boolean;
  /** Whether anybody listens; called when that changes. */
  want(isWanted: boolean): void;
  /** When the audio up to this time of the present tape had come in, monotonic milliseconds of this process. */
  arrivedMs(atMs: number): number;
  /** Balance with `unobserve`. */
  observe(observer: TapeObserver): void;
  unobserve(observer: TapeObserver): void;
}
