/**
 * A title as HLS says it: in a segment's ID3 tag (packed.ts) and in playlists (playlist.ts). It is what the channel's `icy` options make of the
 * record, as in an ICY block, so that both always agree. Values.
 */

import type { Mark } from '../audio/tape/mark.js';
import { isSameTags, type Tags } from '../metadata/icy.js';
import type { TrackRecord } from '../metadata/record.js';

/** Of each text, characters. */
const MAX_TEXT = 300;
/** Of a record's id where it is part of a DATERANGE's ID. */
const MAX_ID = 64;
/** Control characters and line ends, which would end an attribute or a frame of ID3, and halves of characters. */
const UNFIT = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Its texts are clean. "" and 0: not known. */
export interface TitleText {
  /** Names this version of it for ever: other words have another. */
  readonly id: string;
  readonly title: string;
  readonly artist: string;
  readonly album: string;
  /** The id of its record. "", and 0 below: the channel says another text in its place. */
  readonly record: string;
  readonly etype: number;
  readonly durationSeconds: number;
}

/** On the channel's timeline. */
export interface HlsTitle extends TitleText {
  /** The PROGRAM-DATE-TIME of its place, unix milliseconds. */
  readonly startMs: number;
}

/**
 * What a mark says that was not said before it; null: nothing, since the channel leaves standing what stood there.
 * @param said by the mark before it; null: it is the first
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

/** Of a record as HLS names it: what TitleText has as `id`. */
export function idOf({ id, version }: Pick<TrackRecord, 'id' | 'version'>): string {
  return `${id.replace(/[^A-Za-z0-9._~-]/g, '_').slice(0, MAX_ID)}.${version}`;
}

/** One line of whole characters, and not too many of them. */
export function clean(text: string): string {
  const line = text.replace(UNFIT, '');
  return line.length <= MAX_TEXT ? line : [...line].slice(0, MAX_TEXT).join('');
}
