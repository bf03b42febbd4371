/**
 * Reads the facts that a source states about itself in its headers: `ice-name`, `icy-name` and the like, from an encoder or an upstream. Listeners
 * get them while that source is on air, unless the channel's configuration has its own. Pure.
 */

import { MAX_KBPS } from '../audio/frames/mean-bitrate.js';
import { cleanText, cleanWithin, cutBytes, cutUnclean, decodeTitle, decodeUndeclared } from '../metadata/text.js';
import type { SentHeaders } from '../net/front/request-head.js';
import { MAX_AUDIO_CHANNELS, MAX_HERTZ, type SourceFacts } from './source-facts-schema.js';

export interface FactLimits {
  /** Bytes of UTF-8; a longer text is cut at a character. */
  readonly textBytes: number;
  /** A longer URL is ignored. */
  readonly urlBytes: number;
}

/** What is configured for a source. */
export interface SourceRules {
  /** The channel, for the watchdog. */
  readonly channel: string;
  /** A stream with more bytes that are not audio, beyond those that audio offsets, is ended. */
  readonly framelessBytes: number;
  readonly facts: FactLimits;
  /** The charset of its headers and titles that are not UTF-8, read for each; absent: Windows-1252. */
  readonly charset?: string | undefined;
}

/** @param charset of texts that are not UTF-8; undefined: Windows-1252 */
export function readFacts({ headers, foreign }: SentHeaders, limits: FactLimits, charset?: string): SourceFacts {
  const read = (name: string) => {
    const bytes = foreign?.get(name);
    return bytes === undefined ? headers.get(name) : decodeTitle(bytes, charset);
  };
  const raw = (...names: string[]) => names.map((name) => read(name)?.trim()).find((value) => value) ?? '';
  const text = (name: string) => cut(raw(`ice-${name}`, `icy-${name}`), limits.textBytes).trim();
  const url = cleanWithin(raw('ice-url', 'icy-url'), limits.urlBytes) ?? '';
  const isPublic = raw('ice-public', 'icy-pub', 'ice-pub', 'icy-public');
  const audioInfo = cut(percentRead(raw('ice-audio-info', 'icy-audio-info')), limits.textBytes).trim();
  const info = readInfo(audioInfo);
  return {
    name: text('name'),
    genre: text('genre'),
    url: /^https?:\/\/[^\s<>"']+$/i.test(url) ? url : '',
    description: text('description'),
    public: isPublic === '' ? undefined : isPublic !== '0',
    bitrateKbps: kbps(raw('ice-bitrate', 'icy-br')) || kbps(info.get('bitrate') ?? ''),
    sampleRate: number(info.get('samplerate') ?? '', MAX_HERTZ),
    channels: number(info.get('channels') ?? '', MAX_AUDIO_CHANNELS),
    audioInfo,
    contentType: cut(raw('content-type').toLowerCase(), limits.textBytes).split(';')[0]!.trim(),
  };
}

/** Some send `128`, some `128,128`, some `Quality 5`; `1e9` is not 1. */
function kbps(value: string): number {
  return number(value, MAX_KBPS);
}

function number(value: string, most: number): number {
  const read = Number(/^(\d+)(?!\w)/.exec(value.trim())?.[1] ?? 0);
  return read <= most ? read : 0;
}

/** Name → value; names in lower case, without the `ice-` that BUTT puts before them. */
function readInfo(audioInfo: string): ReadonlyMap<string, string> {
  const pairs = audioInfo.split(';').map((pair) => pair.split('='));
  return new Map(pairs.map(([name = '', value = '']) => [name.trim().toLowerCase().replace(/^ice-/, ''), value]));
}

/** IceS writes `quality=3%2e00`. A `%` that encodes nothing stays. */
function percentRead(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => decodeUndeclared(Buffer.from(run.replaceAll('%', ''), 'hex')));
}

/** Cleans the text, and cuts it between code points. */
function cut(text: string, maxBytes: number): string {
  return cutBytes(cleanText(cutUnclean(text, maxBytes)), maxBytes);
}
