/**
 * What of a record listeners see in the stream itself: the channel's charset, its StreamUrl, and its policy for content types.
 * Readers of records always get the true one; here a jingle may leave the last title standing, or an advertisement show a text.
 *
 * Rendered once per mark (audio/tape/mark.ts); what renders as before is the very same block, so that listeners who have it are sent nothing new.
 */

import { type BlockOptions, icyBlock } from './title.js';
import type { RecordView } from './view.js';

/** What stands in the place of a title: `pass` the title itself, `keep` whatever stood there before, else this text. */
export type EtypeRule = string;

export interface IcyOptions extends Omit<BlockOptions, 'url'> {
  /** `none`, `cover` (the record's image, `""` where it has none), or one URL for all. */
  readonly streamUrl: string;
  /** By etype id or by one of the words below; an id counts more. What is not there passes. */
  readonly etypes: Readonly<Record<string, EtypeRule>>;
  /** Shown where there is nothing to keep. */
  readonly name: string;
}

/** A title as the comments of an Ogg stream say it; `""` where a part is not known. */
export interface Tags {
  readonly artist: string;
  readonly title: string;
  readonly album: string;
}

/** The content types as the configuration names them (specification, "etype allowed values"). */
const WORDS: Readonly<Record<string, (etype: number) => boolean>> = {
  unknown: (etype) => etype === 0,
  jingle: (etype) => etype === 101,
  promo: (etype) => etype === 102,
  advertising: (etype) => etype === 103,
  news: (etype) => etype === 104,
  article: (etype) => etype === 105,
  music: (etype) => etype >= 1001 && etype <= 1008,
};

/** @param before the block that stands in the stream now, or null: none does (the first title after a start) */
export function blockFor(view: RecordView, before: Buffer | null, options: IcyOptions): Buffer {
  // The channel's own title has no content type: it passes on every output (src/now-playing/README.md, "Fallback title").
  const rule = view.record.source === 'fallback' ? 'pass' : ruleFor(view.record.etype, options.etypes);
  if (rule === 'keep' && before !== null) return before;
  const title = rule === 'pass' ? view.title : rule === 'keep' ? options.name : rule;
  const cover = rule === 'pass' ? view.cover : '';
  const url = options.streamUrl === 'none' ? undefined : options.streamUrl === 'cover' ? cover : options.streamUrl;
  const block = icyBlock(title, { charset: options.charset, apostrophe: options.apostrophe, url });
  return before?.equals(block) ? before : block;
}

/** The same for a stream whose titles stand in comments. @param before what stands there now, or null */
export function tagsFor(view: RecordView, before: Tags | null, options: IcyOptions): Tags {
  const tags = tagsUnder(view, before, options);
  return before !== null && isSame(tags, before) ? before : tags;
}

function isSame(one: Tags, other: Tags): boolean {
  return one.artist === other.artist && one.title === other.title && one.album === other.album;
}

function tagsUnder(view: RecordView, before: Tags | null, options: IcyOptions): Tags {
  const { artist, song, album, source, etype } = view.record;
  const rule = source === 'fallback' ? 'pass' : ruleFor(etype, options.etypes);
  if (rule === 'pass') return { artist, title: song, album };
  if (rule === 'keep' && before !== null) return before;
  return { artist: '', title: rule === 'keep' ? options.name : rule, album: '' };
}

function ruleFor(etype: number, rules: IcyOptions['etypes']): EtypeRule {
  const word = Object.keys(rules).find((name) => WORDS[name]?.(etype));
  return rules[etype] ?? (word === undefined ? 'pass' : rules[word]!);
}
