/**
 * A track as accepted, and the record that it becomes when it takes effect on a channel. Values only: input is parsed before
 * (push-input.ts, titles of encoders and upstreams), output rendered by view.ts (JSON, text) and title.ts (ICY). A record never changes.
 */

export type TrackType = 'now' | 'next';

/** Where the title comes from. `fallback` is the channel's own, configured title. */
export type TitleSource = 'metapush' | 'encoder' | 'upstream' | 'fallback';

/** The separator of artist and song if a push has none (specification, "Metadata element as sent"). */
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
  /** The id made here if the first message had none. It identifies the play even if a later message brings the sender's id. */
  readonly madeId?: string;
  readonly type: TrackType;
  /** `""`: unknown or deliberately empty. */
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
  /** JSON exactly as pushed, without white space outside strings; null: never pushed. */
  readonly images: string | null;
  readonly extdata: string | null;
  readonly source: TitleSource;
  /** The source that has sent it while on air (titles/speakers.ts); absent: the title stays whichever source is on air. */
  readonly saidBy?: string;
  /** The start of the track, unix seconds to the millisecond. */
  readonly startSeconds: number;
}

export interface TrackRecord extends Track {
  /** The channel key. */
  readonly channel: string;
  /** Rises by one with every change of this channel; the order that every reader sees. */
  readonly version: number;
  /** When it took effect here: unix milliseconds. */
  readonly effectAtMs: number;
  /** Its place among the records of all channels (feed/sequence.ts), set by the engine. */
  readonly stamp?: number;
}

/** Whether both are the same play: a correction keeps its id and the moment at which it took effect. */
export function isSamePlay(one: TrackRecord, other: TrackRecord): boolean {
  return playId(one) === playId(other) && one.effectAtMs === other.effectAtMs;
}

/** The id of the play, whatever id its record has now. */
export function playId({ id, madeId }: Pick<Track, 'id' | 'madeId'>): string {
  return madeId ?? id;
}

/** Whether a sender gave the id. */
export function isIdSent({ id, madeId }: Pick<Track, 'id' | 'madeId'>): boolean {
  return id !== madeId;
}

/** The track with the id of another one of the same play. */
export function withIdOf(track: Track, { id, madeId }: Track): Track {
  const { madeId: _, ...rest } = track;
  return { ...rest, id, ...(madeId !== undefined && { madeId }) };
}

type Words = Pick<Track, 'artist' | 'song'> & Partial<Pick<Track, 'separator'>>;

/** Whether both have the same text, however it is divided into artist and song. */
export function isSameWords(one: Words, other: Words): boolean {
  if (one.artist === other.artist) {
    if (one.song === other.song) return true;
    // Their lines differ as their songs do.
    if (separatorOf(one) === separatorOf(other)) return false;
  }
  return lineOf(one) === lineOf(other);
}

function lineOf(words: Words): string {
  return titleLine({ artist: words.artist, song: words.song, separator: separatorOf(words) });
}

function separatorOf({ separator }: Words): string {
  return separator ?? DEFAULT_SEPARATOR;
}

/** A dropped next as readers get it: with its id, without text. */
export function dropped(next: TrackRecord): TrackRecord {
  const nothing = { artist: '', song: '', album: '', isrc: '', cover: '', images: null, extdata: null };
  return { ...next, ...nothing, durationSeconds: 0, etype: 0 };
}

/** Artist and song with the separator, or the only non-empty one (src/metadata/README.md, "Title line"). */
export function titleLine(track: Pick<Track, 'artist' | 'song' | 'separator'>): string {
  if (track.artist === '') return track.song;
  if (track.song === '') return track.artist;
  return track.artist + track.separator + track.song;
}
