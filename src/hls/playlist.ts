/**
 * Playlists as text (RFC 8216, 4): the multivariant playlist, which names the media playlist, and the media playlist, with its segments and titles.
 * Pure: the window (window.ts) decides what is listed.
 */

import { clean, type HlsTitle } from './hls-title.js';

/** CLASS of titles, so that pages and apps can distinguish them from other date ranges. */
const TITLE_CLASS = 'net.airsplice.title';
const BANDWIDTH_STEP = 1000;
/** RFC 8216, 7: EXT-X-MAP needs version 6; most servers of fMP4 state 7. */
const [PACKED_VERSION, MP4_VERSION] = [3, 7] as const;

/** A file that players fetch by its name. */
export type HlsFile = HlsSegment | HlsInit | ReadFile;

/** A segment or initialization section that was read from its file for one answer. */
export interface ReadFile {
  readonly name: string;
  readonly bytes: Buffer;
  readonly isRead: true;
}

/** An initialization section, without which segments of fMP4 cannot be played. Immutable, as segments are. */
export interface HlsInit {
  /** Its file name. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** A closed segment. Immutable; its name is never used again. */
export interface HlsSegment {
  /** Its media sequence number. */
  readonly number: number;
  /** Its file name. */
  readonly name: string;
  readonly bytes: Buffer;
  /** Shared by all segments of one format; null if it needs none. */
  readonly init: HlsInit | null;
  /** RFC 6381. */
  readonly codecs: string;
  /** PROGRAM-DATE-TIME of its first sample, Unix milliseconds. */
  readonly startMs: number;
  /** EXTINF, the duration of its audio, microseconds. */
  readonly micros: number;
  /** Whether it does not continue the previous segment. */
  readonly isDiscontinuity: boolean;
  /** Where the next segment continues it; null if it does not. */
  readonly end: CutPosition | null;
}

/** Where a segment ends: another cutter of the same tape continues there without a gap. */
export interface CutPosition {
  /** The tape's name, the same in all processes. */
  readonly tape: string;
  /** Audio time on the tape, milliseconds. */
  readonly atMs: number;
  /** As in SegmentForm. */
  readonly format: string;
  readonly time: TimePosition;
}

/** The state of a ProgramTime, from which another continues. */
export interface TimePosition {
  /** At its first sample, Unix milliseconds. */
  readonly startMs: number;
  /** Samples since then, and the corrections so far. */
  readonly samples: number;
  readonly correctedMs: number;
}

export interface Variant {
  /** Bits per second, of the segment with the most. */
  readonly bandwidth: number;
  readonly codecs: string;
  /** The channel's display name. */
  readonly name: string;
  /** Of a private listener, which has its own media playlist; null for the shared one. */
  readonly token: string | null;
}

export interface Listing {
  /** TARGETDURATION, seconds. */
  readonly targetSeconds: number;
  /** EXT-X-DISCONTINUITY-SEQUENCE: the number of discontinuities before these segments. */
  readonly discontinuitySequence: number;
  /** At least one, since players take an empty playlist for the end. Either all need an initialization section, or none does. */
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

/** Returns the first lines of a media playlist. */
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
  /** The file of its initialization section; null if it needs none. */
  readonly init: string | null;
}

/**
 * Returns the lines of a segment. @param before the initialization section of the previous segment; null if it has none, or this is the first
 * @param isDated whether its date is stated
 */
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

/** Returns a title's line. A correction has another ID at the same START-DATE, as attributes of one ID must not change (RFC 8216, 4.3.2.7). */
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

/** Quotes a text; a quoted string cannot contain double quotes (RFC 8216, 4.2). */
function quoted(text: string): string {
  return `"${text.replaceAll('"', '”')}"`;
}

/** Returns the time as RFC 3339, to the millisecond. @param ms Unix milliseconds */
function dateOf(ms: number): string {
  return new Date(Math.round(ms)).toISOString();
}
