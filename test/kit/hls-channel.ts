/**
 * A channel and its HLS, without a server: numbered frames arrive by a clock that tests move, and titles as from the title service. And readers of
 * its output, independent of the code under test.
 */

import * as hlsParser from 'hls-parser';
import { Parser } from 'm3u8-parser';
import { ChannelAudio, type ChannelAudioOptions } from '../../src/audio/channel-audio.js';
import type { OggLink } from '../../src/audio/ogg/ogg-link.js';
import type { AudioTape } from '../../src/audio/tape/audio-tape.js';
import type { FormChoice } from '../../src/config/hls-config.js';
import { CutFeed } from '../../src/hls/cut-feed.js';
import { type CutterOptions, HlsCutter } from '../../src/hls/cutter.js';
import type { HlsFeeds } from '../../src/hls/hls-feed.js';
import type { HlsSegment } from '../../src/hls/playlist.js';
import { HlsWindow } from '../../src/hls/window.js';
import { TapeNames } from '../../src/link/tapes/tape-names.js';
import type { TrackRecord } from '../../src/metadata/record.js';
import { FakeClock } from './clock.js';
import { frameOf } from './frame-of.js';
import { readTag } from './id3.js';
import { NUMBERED_MS, numberedFrame } from './numbered.js';
import { viewOf } from './record.js';

const names = new TapeNames();

/** The hub's name for a tape. */
export function tapeName(tape: AudioTape): string {
  const { hub, number } = names.nameOf(tape);
  return `${hub}.${number}`;
}

/** Feeds that cut all channels. */
export function cutFeeds(clock: FakeClock, silenceMs: number): HlsFeeds {
  const parts = { clock, silenceMs, tapeName };
  return { make: (source, options, window) => new CutFeed(source, options, window, parts), isRemote: () => false };
}

export interface HlsChannelOptions extends Partial<ChannelAudioOptions> {
  readonly targetSeconds?: number;
  readonly window?: number;
  readonly keep?: number;
  readonly form?: FormChoice;
  readonly delayMs?: number;
}

export class HlsChannel {
  readonly clock = new FakeClock();
  readonly audio: ChannelAudio;
  readonly window: HlsWindow;
  cutter: HlsCutter | null = null;
  /** Number of frames so far. */
  frames = 0;
  readonly #options: CutterOptions;
  #version = 0;

  constructor({ targetSeconds = 4, window = 6, keep = 12, form = 'auto', delayMs, ...audio }: HlsChannelOptions = {}) {
    const { clock } = this;
    this.#options = { segmentSeconds: targetSeconds, form };
    const delay = delayMs === undefined ? undefined : { ms: delayMs, clock };
    const own = { key: 'demo', lagMs: 30_000, bitrateKbps: 128, now: () => clock.now(), delay };
    this.audio = new ChannelAudio({ ...own, ...audio });
    this.window = new HlsWindow(targetSeconds, { window, keep }, clock.wallMs());
  }

  cut(): HlsCutter {
    const { audio, clock, window } = this;
    this.cutter = new HlsCutter({ audio, clock, window, tapeName }, this.#options);
    return this.cutter;
  }

  /** Feeds audio in real time. */
  play(seconds: number, isFresh = false): void {
    const endMs = this.clock.now() + seconds * 1000;
    let fresh = isFresh;
    while (this.clock.now() + NUMBERED_MS <= endMs) {
      this.clock.advance(NUMBERED_MS);
      this.write(numberedFrame(this.frames), NUMBERED_MS, fresh);
      fresh = false;
    }
  }

  /** Feeds a packet of Ogg in real time. */
  packet(bytes: Buffer, ms: number, link: OggLink, fresh = false): void {
    this.clock.advance(ms);
    this.audio.write(frameOf(bytes, ms, 128, fresh, link));
    this.frames++;
  }

  /** Feeds a frame. */
  write(frame: Buffer, ms = NUMBERED_MS, fresh = false): void {
    this.audio.write(frameOf(frame, ms, 128, fresh));
    this.frames++;
  }

  /** A title took effect this long ago. */
  title(song: string, agoMs = 0, fields: Partial<TrackRecord> = {}): void {
    const version = ++this.#version;
    this.audio.title(viewOf(song, { id: `id-${song}`, version, effectAtMs: version, ...fields }), agoMs);
  }
}

export interface ReadSegment {
  readonly name: string;
  readonly seconds: number;
  readonly dateMs: number;
  readonly isDiscontinuity: boolean;
  /** Its initialization section; null: none. */
  readonly init: string | null;
}

export interface ReadTitle {
  readonly id: string;
  readonly startMs: number;
  readonly title: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface ReadPlaylist {
  readonly targetSeconds: number;
  readonly mediaSequence: number;
  readonly discontinuitySequence: number;
  readonly segments: readonly ReadSegment[];
  readonly titles: readonly ReadTitle[];
}

/** A media playlist, read by two parsers that must agree. */
export function readPlaylist(text: string): ReadPlaylist {
  const parser = new Parser();
  parser.push(text);
  parser.end();
  const { manifest } = parser;
  const other = hlsParser.parse(text) as hlsParser.types.MediaPlaylist;
  // A segment without a date begins at the end of the previous one.
  let nextMs = Number.NaN;
  const segments = manifest.segments.map((segment, i) => {
    const ownMs = segment.dateTimeObject?.getTime();
    const dateMs = ownMs ?? nextMs;
    nextMs = dateMs + segment.duration * 1000;
    return {
      name: segment.uri,
      seconds: segment.duration,
      dateMs,
      ownMs,
      isDiscontinuity: segment.discontinuity === true,
      init: segment.map?.uri ?? null,
      other: other.segments[i]!,
    };
  });
  for (const { name, seconds, ownMs, init, other: segment } of segments) {
    const same = [segment.uri, segment.duration, segment.programDateTime?.getTime(), segment.map?.uri ?? null];
    if (JSON.stringify([name, seconds, ownMs, init]) !== JSON.stringify(same))
      throw new Error(`read in two ways: ${name}`);
  }
  if (other.segments.length !== segments.length) throw new Error('read in two ways: segments');
  return {
    targetSeconds: manifest.targetDuration,
    mediaSequence: manifest.mediaSequence,
    discontinuitySequence: manifest.discontinuitySequence,
    segments: segments.map(({ other: _, ownMs: __, ...segment }) => segment),
    titles: manifest.dateRanges.map(({ id, startDate }) => {
      const attributes = attributesOf(text, id);
      return { id, startMs: startDate.getTime(), title: attributes['X-TITLE']!, attributes };
    }),
  };
}

/** The title that a player shows at this date of the playlist; undefined: none. */
export function titleAt({ titles }: ReadPlaylist, dateMs: number): string | undefined {
  return titles.findLast(({ startMs }) => startMs <= dateMs)?.title;
}

function attributesOf(text: string, id: string): Record<string, string> {
  const line = text.split('\n').find((each) => each.startsWith(`#EXT-X-DATERANGE:ID="${id}"`))!;
  const attributes = [...line.slice('#EXT-X-DATERANGE:'.length).matchAll(/([A-Z-]+)=("[^"]*"|[^,]*)/g)];
  return Object.fromEntries(attributes.map(([, name, value]) => [name!, value!.replaceAll('"', '')]));
}

/** The ID3 tag of a segment, and the audio after it. */
export function readPacked(bytes: Buffer): { readonly tag: Readonly<Record<string, string>>; readonly audio: Buffer } {
  const { tag, end } = readTag(bytes);
  return { tag, audio: bytes.subarray(end) };
}

/** The segments in a playlist. */
export function listed(window: HlsWindow): HlsSegment[] {
  return readPlaylist(window.playlist).segments.map(({ name }) => window.segment(name)!);
}
