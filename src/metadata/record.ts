/**
 * A track as it was accepted, and the record it becomes when it takes effect on a channel.
 *
 * Values only: everything that enters is parsed first (push-input.ts, an encoder's or an upstream's title), everything
 * that leaves is rendered by view.ts (JSON, text) and title.ts (ICY). A record never changes after it was made.
 */

export type TrackType = 'now' | 'next';

/** Where the title comes from. `fallback` is the channel's own, configured title. */
export type TitleSource = 'metapush' | 'encoder' | 'upstream' | 'fallback';

/** Written between artist and song where a push names none (specification, "Metadata element as sent"). */
export const DEFAULT_SEPARATOR = ' - ';

/** The content-type ids of the specification: id → name. */
export const ETYPES: ReadonlyMap<number, string> = new Map([
  [0, 'unknown'],
  [101, 'Jingles'],
  [102, 'Promo'],
  [103, 'Advertising'],
  [104, 'News'],
  [105, 'Article'],
  ...Array.from({ length: 8 }, (_, i): [number, string] => [1001 + i, `Music ${i + 1}`]),
]);

export interface Track {
  readonly id: string;
  /** The id that was made here, where the first message had none. It names the play also when a later message brings its sender's id. */
  readonly madeId?: string;
  readonly type: TrackType;
  /** `""` when it is not known or deliberately empty. */
  readonly artist: string;
  readonly song: string;
  readonly separator: string;
  /** Whole seconds; 0 = no known end. */
  readonly durationSeconds: number;
  readonly etype: number;
  readonly isrc: string;
  readonly cover: string;
  readonly album: string;
  /** As pushed, default `UTC`; never used to read `time`. */
  readonly timezone: string;
  /** JSON text exactly as pushed (white space outside strings apart), or null when never pushed. */
  readonly images: string | null;
  readonly extdata: string | null;
  readonly source: TitleSource;
  /** The source on air that has said it in its stream or beside it (titles/speakers.ts); absent: it stays whichever is on air. */
  readonly saidBy?: string;
  /** When the track starts, unix seconds to the millisecond. */
  readonly startSeconds: number;
}

export interface TrackRecord extends Track {
  /** The channel key. */
  readonly channel: string;
  /** Rises by one with every change of this channel; the order that every reader sees. */
  readonly version: number;
  /** When it took effect here: unix milliseconds. */
  readonly effectAtMs: number;
  /** Its place among the records of all channels (feed/sequence.ts), put on by the engine. */
  readonly stamp?: number;
}

/** Whether both are one title, perhaps in other words: a correction keeps the play's name, and the moment at which it took effect. */
export function isSamePlay(one: TrackRecord, other: TrackRecord): boolean {
  return playId(one) === playId(other) && one.effectAtMs === other.effectAtMs;
}

/** What names the play, whichever id its record has by now. */
export function playId({ id, madeId }: Pick<Track, 'id' | 'madeId'>): string {
  return madeId ?? id;
}

/** Whether a sender gave the id. */
export function isIdSent({ id, madeId }: Pick<Track, 'id' | 'madeId'>): boolean {
  return id !== madeId;
}

/** The track under the id of another one of the same play. */
export function withIdOf(track: Track, { id, madeId }: Track): Track {
  const { madeId: _, ...rest } = track;
  return { ...rest, id, ...(madeId !== undefined && { madeId }) };
}

type Words = Pick<Track, 'artist' | 'song'> & Partial<Pick<Track, 'separator'>>;

/** Whether listeners read the same, however it is divided into artist and song. */
export function isSameWords(one: Words, other: Words): boolean {
  return (one.artist === other.artist && one.song === other.song) || lineOf(one) === lineOf(other);
}

function lineOf(words: Words): string {
  return titleLine({ separator: DEFAULT_SEPARATOR, ...words });
}

/** A following track that will not come, as readers get it: its id and no words. */
export function dropped(next: TrackRecord): TrackRecord {
  const nothing = { artist: '', song: '', album: '', isrc: '', cover: '', images: null, extdata: null };
  return { ...next, ...nothing, durationSeconds: 0, etype: 0 };
}

/** The title line as listeners see it: both parts with the separator, or the only non-empty part (src/metadata/README.md, "Title line"). */
export function titleLine(track: Pick<Track, 'artist' | 'song' | 'separator'>): string {
  if (track.artist === '') return track.song;
  if (track.song === '') return track.artist;
  return track.artist + track.separator + track.song;
}
