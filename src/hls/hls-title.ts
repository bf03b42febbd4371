/**
 * A title in HLS: in a segment's ID3 tag (packed.ts) and in playlists (playlist.ts). The channel's `icy` options make it from the record, as they do
 * an ICY block, so that both always agree. Values.
 */

import type { Mark } from '../audio/tape/mark.js';
import { isSameTags, type Tags } from '../metadata/icy.js';
import type { TrackRecord } from '../metadata/record.js';

/** The limit of each text, characters. */
const MAX_TEXT = 300;
/** The limit of a record's id in a DATERANGE's ID, characters. */
const MAX_ID = 64;
/** Control characters and line ends, which would end an attribute or an ID3 frame, and lone surrogates. */
const UNFIT = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** All texts are clean. "" and 0: unknown. */
export interface TitleText {
  /** Identifies this version of the record forever; other words have another id. */
  readonly id: string;
  readonly title: string;
  readonly artist: string;
  readonly album: string;
  /** The id of its record. "", and 0 below, if the channel shows another text in its place. */
  readonly record: string;
  readonly etype: number;
  readonly durationSeconds: number;
}

/** A title on the channel's timeline. */
export interface HlsTitle extends TitleText {
  /** The PROGRAM-DATE-TIME of its place, Unix milliseconds. */
  readonly startMs: number;
}

/**
 * Returns the title of a mark, or null if the channel keeps showing the previous one.
 * @param said the tags of the previous mark; null for the first
 */
export function titleOf({ tags, view }: Mark, said: Tags | null): TitleText | null {
  const { id, artist, song, album, etype, durationSeconds } = view.record;
  const isOwn = isSameTags(tags, { artist, title: song, album });
  if (!isOwn && said !== null && isSameTags(tags, said)) return null;
  const words = { title: clean(tags.title), artist: clean(tags.artist), album: clean(tags.album) };
  return {
    id: idOf(view.record),
    ...words,
    record: isOwn ? clean(id) : '',
    etype: isOwn ? etype : 0,
    durationSeconds: isOwn ? durationSeconds : 0,
  };
}

/** Returns the id of a record's version in HLS (TitleText). */
export function idOf({ id, version }: Pick<TrackRecord, 'id' | 'version'>): string {
  return `${id.replace(/[^A-Za-z0-9._~-]/g, '_').slice(0, MAX_ID)}.${version}`;
}

/** Returns the text as one line of whole characters, at most MAX_TEXT. */
export function clean(text: string): string {
  const line = text.replace(UNFIT, '');
  return line.length <= MAX_TEXT ? line : [...line].slice(0, MAX_TEXT).join('');
}
