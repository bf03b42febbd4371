/**
 * Playlists as text (RFC 8216, 4): the multivariant one, which names the media playlist, and that, with its segments and their titles. Pure: who
 * decides what is listed is the window (window.ts).
 */

import { clean, type HlsTitle } from './hls-title.js';

/** Of titles, so that pages and apps know them from other dates. */
const TITLE_CLASS = 'net.airsplice.title';
const BANDWIDTH_STEP = 1000;
/** RFC 8216, 7: with EXT-X-MAP a playlist needs version 6, and most who send fMP4 say 7. */
const [PACKED_VERSION, MP4_VERSION] = [3, 7] as const;

/** What is fetched by a name. */
export type HlsFile = HlsSegment | HlsInit | ReadFile;

/** A segment, or what some need, that was read from its file for this answer. */
export interface ReadFile {
  readonly name: string;
  readonly bytes: Buffer;
  readonly isRead: true;
}

/** What segments of fMP4 cannot be played without. It never changes either. */
export interface HlsInit {
  /** Its file. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** A closed segment, from wherever it comes. It never changes, nor does anything else ever have its name. */
export interface HlsSegment {
  /** Its media sequence number. */
  readonly number: number;
  /** Its file. */
  readonly name: string;
  readonly bytes: Buffer;
  /** One for all that goes on in one format; null: it needs none. */
  readonly init: HlsInit | null;
  /** RFC 6381. */
  readonly codecs: string;
  /** PROGRAM-DATE-TIME of its first sample, unix milliseconds. */
  readonly startMs: number;
  /** Of its audio: what EXTINF says. */
  readonly micros: number;
  /** What comes before it does not go on in it. */
  readonly isDiscontinuity: boolean;
  /** Null: what comes behind it does not go on from it. */
  readonly end: CutPlace | null;
}

/** Where a segment ends: a cutter of the same tape goes on there, without a seam. */
export interface CutPlace {
  /** Names the tape in all processes that have it. */
  readonly tape: string;
  /** Audio time on it, milliseconds. */
  readonly atMs: number;
  /** As SegmentForm has it. */
  readonly format: string;
  readonly time: TimePlace;
}

/** How far a ProgramTime has come: it goes on from there. */
export interface TimePlace {
  /** At its first sample, unix milliseconds. */
  readonly startMs: number;
  /** Since then, and by how much it was corrected. */
  readonly samples: number;
  readonly correctedMs: number;
}

export interface Variant {
  /** Bits a second: of the largest segment. */
  readonly bandwidth: number;
  readonly codecs: string;
  /** As listeners know the channel. */
  readonly name: string;
  /** Of a private listener, whose media playlist is its own; null: it is the one that all share. */
  readonly token: string | null;
}

export interface Listing {
  /** Seconds: TARGETDURATION. */
  readonly targetSeconds: number;
  /** How many EXT-X-DISCONTINUITY were listed before these segments. */
  readonly discontinuitySequence: number;
  /** One at least: players take an empty playlist for the end. All of them need initialization, or none. */
  readonly segments: readonly HlsSegment[];
  /** In order of their places. */
  readonly titles: readonly HlsTitle[];
}

export function multivariantPlaylist({ bandwidth, codecs, name, token }: Variant): string {
  const most = Math.ceil(bandwidth / BANDWIDTH_STEP) * BANDWIDTH_STEP;
  const attributes = `BANDWIDTH=${most},CODECS="${codecs}",NAME=${quoted(clean(name))}`;
  const query = token === null ? '' : `?s=${token}`;
  return `#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-STREAM-INF:${attributes}\nhls/live.m3u8${query}\n`;
}

export function mediaPlaylist({ targetSeconds, discontinuitySequence, segments, titles }: Listing): string {
  const { init, number: mediaSequence } = segments[0]!;
  const head = playlistHead({ isMp4: init !== null, targetSeconds, mediaSequence, discontinuitySequence });
  const lines = segments.map((segment, i) =>
    segmentLines({ ...segment, init: segment.init?.name ?? null }, segments[i - 1]?.init?.name ?? null, true),
  );
  return [head, ...titles.map(dateRange), ...lines].join('');
}

export interface PlaylistHead {
  readonly isMp4: boolean;
  readonly targetSeconds: number;
  readonly mediaSequence: number;
  readonly discontinuitySequence: number;
}

/** Its first lines. */
export function playlistHead({ isMp4, targetSeconds, mediaSequence, discontinuitySequence }: PlaylistHead): string {
  const lines = [
    '#EXTM3U',
    `#EXT-X-VERSION:${isMp4 ? MP4_VERSION : PACKED_VERSION}`,
    `#EXT-X-TARGETDURATION:${targetSeconds}`,
    `#EXT-X-MEDIA-SEQUENCE:${mediaSequence}`,
    `#EXT-X-DISCONTINUITY-SEQUENCE:${discontinuitySequence}`,
  ];
  return `${lines.join('\n')}\n`;
}

export interface ListedSegment extends Pick<HlsSegment, 'name' | 'startMs' | 'micros' | 'isDiscontinuity'> {
  /** The file that it needs. */
  readonly init: string | null;
}

/** Its lines. @param before what the segment before it needs; null: nothing, or it is the first @param isDated whether it has its own date */
export function segmentLines(
  { name, init, startMs, micros, isDiscontinuity }: ListedSegment,
  before: string | null,
  isDated: boolean,
): string {
  const isMapped = init !== null && (isDiscontinuity || init !== before);
  const lines = [
    ...(isDiscontinuity ? ['#EXT-X-DISCONTINUITY'] : []),
    ...(isMapped ? [`#EXT-X-MAP:URI="${init}"`] : []),
    ...(isDated ? [`#EXT-X-PROGRAM-DATE-TIME:${dateOf(startMs)}`] : []),
    `#EXTINF:${Math.floor(micros / 1e6)}.${String(micros % 1e6).padStart(6, '0')},`,
    name,
  ];
  return `${lines.join('\n')}\n`;
}

/** A correction has another ID at the same START-DATE: of one ID all attributes stay what they are (RFC 8216, 4.3.2.7). */
export function dateRange({ id, startMs, title, artist, etype, durationSeconds, record }: HlsTitle): string {
  const attributes = [
    `ID="${id}"`,
    `CLASS="${TITLE_CLASS}"`,
    `START-DATE="${dateOf(startMs)}"`,
    'END-ON-NEXT=YES',
    `X-TITLE=${quoted(title)}`,
    ...(artist === '' ? [] : [`X-ARTIST=${quoted(artist)}`]),
    ...(etype === 0 ? [] : [`X-ETYPE=${etype}`]),
    ...(durationSeconds === 0 ? [] : [`X-DURATION=${durationSeconds}`]),
    ...(record === '' ? [] : [`X-RECORD=${quoted(record)}`]),
  ];
  return `#EXT-X-DATERANGE:${attributes.join(',')}\n`;
}

/** What is quoted holds no quotes (RFC 8216, 4.2). */
function quoted(text: string): string {
  return `"${text.replaceAll('"', '”')}"`;
}

/** RFC 3339, to the millisecond. */
function dateOf(ms: number): string {
  return new Date(Math.round(ms)).toISOString();
}
