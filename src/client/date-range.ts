/**
 * The titles of a playlist: EXT-X-DATERANGE of the class net.airsplice.title (src/hls/README.md), from hls.js or from the text of a playlist.
 * Other date ranges, and titles beyond MAX_TITLES, are left out.
 */

import { recordOf } from './channel-record.js';
import type { ChannelRecord } from './types.js';

/** In force from its date until that of the next title. A correction has another id. */
export interface DatedTitle {
  readonly id: string;
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly record: ChannelRecord;
}

export type Attributes = Readonly<Record<string, unknown>>;

const TITLE_CLASS = 'net.airsplice.title';
/** More than a playlist has, even that of a rewind of two days. */
export const MAX_TITLES = 10_000;
const LINE = /^#EXT-X-DATERANGE:(.*)$/gm;
const ATTRIBUTE = /([A-Z0-9-]+)=(?:"([^"\r\n]*)"|([^,"\r\n]*))(?:,|$)/g;

/** @returns the titles in order of their dates */
export function datedTitles(ranges: readonly Attributes[]): DatedTitle[] {
  const titles = ranges.map(datedTitle).filter((title) => title !== null);
  return titles.sort((a, b) => a.startMs - b.startMs).slice(-MAX_TITLES);
}

/** The attributes of each EXT-X-DATERANGE. */
export function dateRangesOf(playlist: string): Attributes[] {
  return Array.from(playlist.matchAll(LINE), ([, list]) => {
    const pairs = Array.from(list!.matchAll(ATTRIBUTE), ([, name, quoted, plain]) => [name!, quoted ?? plain ?? '']);
    return Object.fromEntries(pairs);
  });
}

function datedTitle(attributes: Attributes): DatedTitle | null {
  const text = (name: string) => {
    const value = attributes[name];
    return typeof value === 'string' ? value : '';
  };
  const number = (name: string) => (/^\d{1,9}$/.test(text(name)) ? Number(text(name)) : 0);
  const id = text('ID');
  const startMs = Date.parse(text('START-DATE'));
  if (text('CLASS') !== TITLE_CLASS || id === '' || Number.isNaN(startMs)) return null;
  const [artist, song] = [text('X-ARTIST'), text('X-TITLE')];
  const rawdata = [artist, song].filter((words) => words !== '').join(' - ');
  const numbers = { duration: number('X-DURATION'), etype: number('X-ETYPE') };
  const record = recordOf('now', { rawdata, artist, song, ...numbers, id: text('X-RECORD') });
  return { id, startMs, record: { ...record, startMs } };
}
