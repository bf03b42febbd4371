/**
 * A record as it comes from the server, read once into a typed value (src/metadata/README.md, "The channel record"). What is not understood
 * is left out; a text that is not a record at all is null and goes no further.
 */

export interface RecordImages {
  readonly small: string;
  readonly medium: string;
  readonly large: string;
}

/** Texts are as others wrote them: show them as text, never as HTML. Unknown ones are `""`. */
export interface ChannelRecord {
  /** In force, or what follows. */
  readonly type: 'now' | 'next';
  /** The line that players show: artist and song, or the one that is known. `""`: between songs. */
  readonly title: string;
  readonly artist: string;
  readonly song: string;
  readonly album: string;
  /** An http or https URL. */
  readonly cover: string;
  /** The same, each. */
  readonly images: RecordImages;
  /** 0: not known. */
  readonly durationSeconds: number;
  /** When the track starts, or started: unix milliseconds. */
  readonly startMs: number;
  /** The kind of content: 0 unknown, 101 to 105 jingle, promo, advert, news, article, 1001 to 1008 music. */
  readonly etype: number;
  readonly id: string;
  readonly isrc: string;
  readonly channelkey: string;
  /** The channel's display name. */
  readonly channel: string;
  /** The station's key. */
  readonly station: string;
  /** Where the title comes from: metapush, encoder, upstream or fallback. */
  readonly source: string;
  /** In listener scope the connection that plays, a UUID; else `""`. */
  readonly session: string;
  /** In listener scope milliseconds of audio between the session's first byte and the place of the title; else null. */
  readonly positionMs: number | null;
  /** In listener scope the path that is played; else `""`. */
  readonly mount: string;
  /** What was pushed beside it, untouched; null: nothing. */
  readonly extdata: unknown;
}

type WireFields = Readonly<Record<string, unknown>>;

/** @returns null where the text is not a record */
export function readRecord(json: string): ChannelRecord | null {
  const fields = parse(json);
  const type = fields?.['type'];
  if (fields === null || (type !== 'now' && type !== 'next') || text(fields, 'channelkey') === '') return null;
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
    source: text(fields, 'source'),
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

/** Whatever else a cover may be, it does not go into a page. */
function webAddress(url: string): string {
  return /^https?:\/\//i.test(url) ? url : '';
}
