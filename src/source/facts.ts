/**
 * What a source says of itself in its heads: `ice-name`, `icy-name` and their like, as an encoder or an upstream sent them. They tell
 * listeners of a channel whose configuration says nothing, while that source is heard. Everything here is one clean, bounded line:
 * it ends in the heads of answers. Pure; who asks is the source that read the heads.
 */

import { cleanText, cleanWithin, cutBytes, cutUnclean } from '../metadata/text.js';

/** Empty texts, 0 and undefined: it does not say. */
export interface SourceFacts {
  readonly name: string;
  readonly genre: string;
  /** http or https. */
  readonly url: string;
  readonly description: string;
  readonly public: boolean | undefined;
  /** kb/s. */
  readonly bitrateKbps: number;
  /** As sent, such as `bitrate=128;channels=2`. */
  readonly audioInfo: string;
  /** As sent, in lower case, without parameters. */
  readonly contentType: string;
}

export interface FactLimits {
  /** Bytes of UTF-8; a longer text is cut at a character. */
  readonly textBytes: number;
  /** A longer URL is none. */
  readonly urlBytes: number;
}

/** What nobody's bitrate is. */
const MOST_KBPS = 10_000;

/** @param heads names in lower case; values are text already, whatever charset they came in (handshake.ts) */
export function readFacts(heads: ReadonlyMap<string, string>, limits: FactLimits): SourceFacts {
  const raw = (...names: string[]) => names.map((name) => heads.get(name)?.trim()).find((value) => value) ?? '';
  const text = (name: string) => cut(raw(`ice-${name}`, `icy-${name}`), limits.textBytes).trim();
  const url = cleanWithin(raw('ice-url', 'icy-url'), limits.urlBytes) ?? '';
  const isPublic = raw('ice-public', 'icy-pub', 'ice-pub', 'icy-public');
  const audioInfo = text('audio-info');
  return {
    name: text('name'),
    genre: text('genre'),
    url: /^https?:\/\/[^\s<>"']+$/i.test(url) ? url : '',
    description: text('description'),
    public: isPublic === '' ? undefined : isPublic !== '0',
    bitrateKbps: kbps(raw('ice-bitrate', 'icy-br')) || kbps(/bitrate=([^;]*)/i.exec(audioInfo)?.[1] ?? ''),
    audioInfo,
    contentType: cut(raw('content-type').toLowerCase(), limits.textBytes).split(';')[0]!.trim(),
  };
}

/** Some say `128`, some `128,128`, some `Quality 5`; `1e9` is not 1. */
function kbps(value: string): number {
  const number = Number(/^(\d+)(?!\w)/.exec(value.trim())?.[1] ?? 0);
  return number > 0 && number <= MOST_KBPS ? number : 0;
}

/** Clean, and cut between code points. */
function cut(text: string, mostBytes: number): string {
  return cutBytes(cleanText(cutUnclean(text, mostBytes)), mostBytes);
}
