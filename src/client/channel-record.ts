/**
 * Parses a record of the server into a typed value (src/metadata/README.md, "The channel record"). Unknown members are left out; a text
 * that is not a record is null.
 */

import type { ChannelRecord } from './types.js';

const SOURCES = ['metapush', 'encoder', 'upstream', 'fallback'] as const;

type WireFields = Readonly<Record<string, unknown>>;

/** @returns null if the text is not a record */
export function readRecord(json: string): ChannelRecord | null {
  const fields = parse(json);
  const type = fields?.['type'];
  if (fields === null || (type !== 'now' && type !== 'next') || text(fields, 'channelkey') === '') return null;
  return recordOf(type, fields);
}

/** A record with these members of the server's; what is missing or not of its type is empty. */
export function recordOf(type: ChannelRecord['type'], fields: WireFields): ChannelRecord {
  const images = asObject(fields['images']);
  const image = (size: string) => webAddress(text(asObject(images?.[size]) ?? {}, 'url'));
  const position = text(fields, 'position');
  return {
    type,
    title: text(fields, 'rawdata'),
    artist: text(fields, 'artist'),
    song: text(fields, 'song'),
    album: text(fields, 'album'),
    cover: webAddress(text(fields, 'cover')),
    images: { small: image('small'), medium: image('medium'), large: image('large') },
    durationSeconds: number(fields, 'duration'),
    startMs: number(fields, 'start_timestamp') * 1000,
    etype: number(fields, 'etype'),
    id: text(fields, 'id'),
    isrc: text(fields, 'isrc'),
    channelkey: text(fields, 'channelkey'),
    channel: text(fields, 'channel'),
    station: text(fields, 'station'),
    source: SOURCES.find((source) => source === fields['source']) ?? '',
    session: text(fields, 'session'),
    positionMs: /^\d+$/.test(position) ? Number(position) : null,
    mount: text(fields, 'mount'),
    extdata: fields['extdata'] ?? null,
  };
}

function parse(json: string): WireFields | null {
  try {
    return asObject(JSON.parse(json));
  } catch {
    return null;
  }
}

function asObject(value: unknown): WireFields | null {
  return typeof value === 'object' && value !== null ? (value as WireFields) : null;
}

function text(fields: WireFields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

function number(fields: WireFields, name: string): number {
  const value = fields[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** Only such URLs may get into a page. */
function webAddress(url: string): string {
  return /^https?:\/\//i.test(url) ? url : '';
}
