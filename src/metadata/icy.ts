/**
 * A record as listeners see it in the stream: in the channel's charset, with its StreamUrl and its rules for content types. Readers always
 * get the true record; here a jingle may keep the last title, or an advertisement show a text.
 *
 * Rendered once for each mark (audio/tape/mark.ts); an equal block is the same object, so that listeners are sent nothing new.
 */

import { type BlockOptions, icyBlock } from './title.js';
import type { RecordView } from './view.js';

/** `pass`: the title itself; `keep`: the previous title; else this text. */
export type EtypeRule = string;

export interface IcyOptions extends Omit<BlockOptions, 'url'> {
  /** `none`, `cover` (the record's image, or `""`), or one URL for all. */
  readonly streamUrl: string;
  /** Rules by etype id, or by one of the words below. Default: `pass`. */
  readonly etypes: Readonly<Record<string, EtypeRule>>;
  /** Shown if there is nothing to keep. */
  readonly name: string;
}

/** A title as comments of an Ogg stream; `""`: unknown. */
export interface Tags {
  readonly artist: string;
  readonly title: string;
  readonly album: string;
}

/** The names of content types in the configuration (specification, "etype allowed values"). */
const WORDS: Readonly<Record<string, (etype: number) => boolean>> = {
  unknown: (etype) => etype === 0,
  jingle: (etype) => etype === 101,
  promo: (etype) => etype === 102,
  advertising: (etype) => etype === 103,
  news: (etype) => etype === 104,
  article: (etype) => etype === 105,
  music: (etype) => etype >= 1001 && etype <= 1008,
};

/**
 * @param before the block in the stream now; null: none, after a start
 * @param kept the block before the play of this record, which a correction of it keeps
 */
export function blockFor(view: RecordView, before: Buffer | null, options: IcyOptions, kept = before): Buffer {
  const block = blockUnder(view, kept, options);
  return before?.equals(block) ? before : block;
}

function blockUnder(view: RecordView, kept: Buffer | null, options: IcyOptions): Buffer {
  // The channel's own title has no content type: it passes on every output (src/now-playing/README.md, "Fallback title").
  const rule = view.record.source === 'fallback' ? 'pass' : ruleFor(view.record.etype, options.etypes);
  if (rule === 'keep' && kept !== null) return kept;
  const title = rule === 'pass' ? view.title : rule === 'keep' ? options.name : rule;
  const cover = rule === 'pass' ? view.cover : '';
  const url = options.streamUrl === 'none' ? undefined : options.streamUrl === 'cover' ? cover : options.streamUrl;
  return icyBlock(title, { charset: options.charset, apostrophe: options.apostrophe, url });
}

/** The same for a stream with titles in comments. @param before the comments now, or null @param kept as blockFor has it */
export function tagsFor(view: RecordView, before: Tags | null, options: IcyOptions, kept = before): Tags {
  const tags = tagsUnder(view, kept, options);
  return before !== null && isSameTags(tags, before) ? before : tags;
}

export function isSameTags(one: Tags, other: Tags): boolean {
  return one.artist === other.artist && one.title === other.title && one.album === other.album;
}

function tagsUnder(view: RecordView, kept: Tags | null, options: IcyOptions): Tags {
  const { artist, song, album, source, etype } = view.record;
  const rule = source === 'fallback' ? 'pass' : ruleFor(etype, options.etypes);
  if (rule === 'pass') return { artist, title: song, album };
  if (rule === 'keep' && kept !== null) return kept;
  return { artist: '', title: rule === 'keep' ? options.name : rule, album: '' };
}

function ruleFor(etype: number, rules: IcyOptions['etypes']): EtypeRule {
  const word = Object.keys(rules).find((name) => WORDS[name]?.(etype));
  return rules[etype] ?? (word === undefined ? 'pass' : rules[word]!);
}
