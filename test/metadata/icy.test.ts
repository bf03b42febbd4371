/**
 * What stands in the stream: charsets, apostrophes, StreamUrl and the policy for content types. Blocks are read back by
 * icecast-metadata-js, which knows nothing of how they were made.
 */

import fc from 'fast-check';
import { IcecastMetadataReader } from 'icecast-metadata-js';
import t from 'tap';
import { blockFor, type IcyOptions, tagsFor } from '../../src/metadata/icy.js';
import { latin } from '../../src/metadata/latin.js';
import { ETYPES } from '../../src/metadata/record.js';
import { oneLine } from '../../src/metadata/text.js';
import { type BlockOptions, icyBlock } from '../../src/metadata/title.js';
import { drawSeed } from '../kit/random.js';
import { viewOf } from '../kit/record.js';

const UTF8: BlockOptions = { charset: 'utf-8', apostrophe: 'keep' };
const LATIN: BlockOptions = { charset: 'iso-8859-1', apostrophe: 'keep' };
const SEED = drawSeed();

/** The fields of a block that stands between audio, as a player reads them; throws when audio or block are out of step. */
function read(block: Buffer, charset: BlockOptions['charset']): Record<string, string> {
  const fields: Record<string, string>[] = [];
  let audioBytes = 0;
  const reader = new IcecastMetadataReader({
    icyMetaInt: 100,
    icyCharacterEncoding: charset,
    metadataTypes: ['icy'],
    onMetadata: ({ metadata }) => void fields.push({ ...metadata }),
    onStream: ({ stream }) => void (audioBytes += stream!.length),
  });
  const audio = Buffer.alloc(100, "';");
  reader.readAll(Buffer.concat([audio, block, audio, Buffer.from([0]), audio]));
  if (audioBytes !== 300 || fields.length !== 1) throw new Error(`${audioBytes} bytes, ${fields.length} titles`);
  return fields[0]!;
}

/** Whatever holds for any block: its length, its padding, and not more or less than the fields it should have. */
function isWellFormed(block: Buffer, hasUrl: boolean): boolean {
  const end = block.indexOf(0, 1);
  const text = block.toString('latin1', 1, end === -1 ? block.length : end);
  const padding = block.length - 1 - text.length;
  const shape = hasUrl ? /^StreamTitle='.*?';(StreamUrl='[!-&(-~]*';)?$/s : /^StreamTitle='.*?';$/s;
  return (
    block.length === 1 + block[0]! * 16 &&
    padding < 16 &&
    block.subarray(block.length - padding).every((byte) => byte === 0) &&
    !/[\0-\x1f\x7f]/.test(text) &&
    shape.test(text) &&
    text.indexOf("';") === (hasUrl ? text.lastIndexOf("StreamUrl='") : text.length) - 2
  );
}

const hostile = fc.constantFrom(
  ...["'", ';', "';", '’;', '＇;', '\u037e', '；', 'ʼ;', "='", 'StreamUrl', '\0', '\n', '\ud83d', '🎵', '\u0301', 'ħ'],
  ...['ł', 'Œ', '€', '\u0085', 'Ж', 'Ω', '한', '㍉', 'ﬁ'],
);
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.string({ unit: fc.oneof(hostile, fc.string({ unit: 'binary', maxLength: 1 })), maxLength: 4200 }),
);
const options = fc.record({
  charset: fc.constantFrom('utf-8' as const, 'iso-8859-1' as const),
  apostrophe: fc.constantFrom('keep' as const, 'typographic' as const),
  url: fc.oneof(fc.constant(undefined), fc.webUrl({ withQueryParameters: true }), text),
});

t.test('property: any title, any URL, any options', async (t) => {
  const check = fc.property(text, options, (title, options) => {
    const block = icyBlock(title, options);
    const latin1 = options.charset === 'iso-8859-1';
    const whole = block.toString('latin1').includes("StreamUrl='");
    const hasUrl = options.url !== undefined && whole && !title.includes('StreamUrl');
    if (options.url !== undefined && title.includes('StreamUrl')) return block.length === 1 + block[0]! * 16;
    if (!isWellFormed(block, hasUrl)) return false;
    const { StreamTitle: seen, StreamUrl: url } = read(block, options.charset);
    if (hasUrl !== (url !== undefined)) return false;
    if (options.apostrophe === 'typographic' && seen!.includes("'")) return false;
    if (seen === undefined) return false;
    // What could not be told apart from what was put in.
    const clean = oneLine(title);
    const fits = latin1 ? /^[ -\u00ff]{0,4065}$/.test(clean) : Buffer.byteLength(clean) <= 4065;
    const changed = /^;|';|\p{Surrogate}/u.test(clean) || (options.apostrophe === 'typographic' && clean.includes("'"));
    return !fits || changed || seen === clean;
  });
  const result = fc.check(check, { numRuns: 1000, seed: SEED });
  t.notOk(result.failed, fc.defaultReportMessage(result) ?? 'held');
});

t.test('iso-8859-1: what has a place stays, the rest becomes plain letters', async (t) => {
  let all = '';
  for (let code = 0xa0; code <= 0xff; code++) all += String.fromCharCode(code);
  t.equal(latin(all), all);
  const table: readonly [string, string][] = [
    ['Łódź, Đurić, Dvořák', 'Lódz, Duric, Dvorák'],
    ['straße Straẞe', 'straße StraSSe'],
    ['‘a’ “b” „c“ ‹d› «e»', `'a' "b" "c" <d> «e»`],
    ['a–b—c‐d−e…', 'a-b-c-d-e...'],
    ['Œuvre œuvre €5 ™', 'OEuvre oeuvre EUR5 TM'],
    ['Nguyễn Ái Quốc', 'Nguyen Ái Quoc'],
    ['İstanbul ışık ğ Ş', 'Istanbul isik g S'],
    ['ﬁn ½ ⅓ ① Ｆull', 'fin ½ 1/3 1 Full'],
    ['Кино – Группа крови', 'Kino - Gruppa krovi'],
    ['Чайковский Щука Ёлка', 'Chaikovskii Shchuka Elka'],
    ['Μίκης Θεοδωράκης', 'Mikis Theodorakis'],
    ['Қазақ әні, Үйдө, Һиндстан, тоҷикӣ', 'Qazaq ani, Uido, Hindstan, tojiki'],
    ['ʾal-ʿarab, Ƶan, əǝ', "'al-'arab, Zan, ee"],
    ['q\u0301 a\u200db\ufe0f \u2003x', 'q ab  x'],
    ['한 日本 🎵', '? ?? ?'],
    ['ħ', 'h'],
  ];
  for (const [title, expected] of table) {
    t.equal(latin(title), expected);
    t.equal(read(icyBlock(title, LATIN), 'iso-8859-1')['StreamTitle'], expected);
  }
  t.equal(icyBlock('é', LATIN).toString('latin1'), "\x01StreamTitle='\xe9';", 'one byte');
  for (let code = 0x100; code < 0x3100; code++) {
    if (!/^[\u0020-\u007e\u00a0-\u00ff]*$/.test(latin(String.fromCharCode(code)))) t.fail(code.toString(16));
  }
});

t.test('nothing that only becomes a quote ends the field', async (t) => {
  for (const title of ["’;StreamUrl='x", 'a＇;b', 'aʼ；b', "a'\u037eb", '；x']) {
    const { StreamTitle, StreamUrl } = read(icyBlock(title, LATIN), 'iso-8859-1');
    t.equal(StreamTitle, latin(title.normalize('NFC')).replaceAll("';", "' ;").replace(/^;/, ' ;'), title);
    t.equal(StreamUrl, undefined);
  }
});

t.test('apostrophe', async (t) => {
  const typographic = { apostrophe: 'typographic' } as const;
  const shown = (title: string, options: BlockOptions) =>
    read(icyBlock(title, options), options.charset)['StreamTitle'];
  t.equal(shown("Don't", UTF8), "Don't");
  t.equal(shown("Don't; 'x';", { ...UTF8, ...typographic }), 'Don’t; ’x’;');
  t.equal(shown("Don't’", { ...LATIN, ...typographic }), 'Don´t´');
  const long = icyBlock("'".repeat(2000), { ...UTF8, ...typographic });
  t.equal(read(long, 'utf-8')['StreamTitle'], '’'.repeat(1355), 'the longer one is cut where it fits');
  t.equal(read(icyBlock('€'.repeat(2000), LATIN), 'iso-8859-1')['StreamTitle'], 'EUR'.repeat(1355));
});

t.test('StreamUrl: a second field where it fits', async (t) => {
  const fields = (title: string, url: string, base = UTF8) => read(icyBlock(title, { ...base, url }), base.charset);
  const url = 'https://img.example/a.jpg';
  t.strictSame(fields('A', url), { StreamTitle: 'A', StreamUrl: url });
  t.strictSame(fields('A', url, LATIN), { StreamTitle: 'A', StreamUrl: url });
  t.strictSame(fields('A', ''), { StreamTitle: 'A', StreamUrl: '' }, 'none now: the last one goes');
  t.strictSame(fields('A', "http://x/';StreamTitle='b é\n"), {
    StreamTitle: 'A',
    StreamUrl: 'http://x/%27;StreamTitle=%27b%20%C3%A9',
  });
  const room = 4080 - "StreamTitle='';StreamUrl='';".length - url.length;
  t.equal(fields('x'.repeat(room), url)['StreamUrl'], url, 'exactly full');
  t.strictSame(fields('x'.repeat(room + 1), url), { StreamTitle: 'x'.repeat(room + 1), StreamUrl: '' });
  t.equal(fields('é'.repeat(room / 2 + 1), url)['StreamUrl'], '', 'bytes count, not characters');
  t.equal(fields('é'.repeat(room - 2), url, LATIN)['StreamUrl'], url);
  t.strictSame(fields('x'.repeat(4065), url), { StreamTitle: 'x'.repeat(4065) }, 'no room at all');
  t.strictSame(fields('x'.repeat(5000), url), { StreamTitle: 'x'.repeat(4065) }, 'only then is the title cut');
});

t.test('the policy for content types', async (t) => {
  const rules = (etypes: IcyOptions['etypes'], more: Partial<IcyOptions> = {}): IcyOptions => ({
    ...UTF8,
    streamUrl: 'none',
    name: 'Radio',
    etypes,
    ...more,
  });
  const before = icyBlock('Last');
  const shown = (etype: number, options: IcyOptions, old: Buffer | null = before) =>
    read(blockFor(viewOf('True', { etype, cover: 'http://x/c.png' }), old, options), 'utf-8');

  await t.test('every etype has a word, and only its own', async (t) => {
    const words = ['unknown', 'jingle', 'promo', 'advertising', 'news', 'article', 'music'];
    for (const [etype, name] of ETYPES) {
      const all = Object.fromEntries(words.map((word) => [word, `is ${word}`]));
      const word = shown(etype, rules(all))['StreamTitle']!.slice(3);
      t.ok(name.toLowerCase().startsWith(word), `${etype}: ${word}`);
      for (const other of words) {
        const { StreamTitle } = shown(etype, rules({ [other]: 'hidden' }));
        t.equal(StreamTitle, other === word ? 'hidden' : 'True', `${etype} by ${other}`);
      }
      t.equal(shown(etype, rules({ ...all, [etype]: 'by id' }))['StreamTitle'], 'by id', 'an id counts more');
    }
  });

  t.equal(
    blockFor(viewOf('x', { etype: 101 }), before, rules({ jingle: 'keep' })),
    before,
    'kept: the very same block',
  );
  const tags = tagsFor(viewOf('x'), null, rules({}));
  const x = blockFor(viewOf('x'), null, rules({}));
  t.equal(blockFor(viewOf('x', { cover: 'http://x/c.png' }), x, rules({})), x, 'what renders as before: too');
  t.equal(tagsFor(viewOf('x', { cover: 'http://x/c.png' }), tags, rules({})), tags);
  t.not(tagsFor(viewOf('x', { album: 'y' }), tags, rules({})), tags);
  t.equal(shown(101, rules({ jingle: 'keep' }), null)['StreamTitle'], 'Radio', 'nothing to keep: the name');
  t.equal(shown(103, rules({ advertising: '' }))['StreamTitle'], '', 'an empty text shows nothing');
  for (const rule of ['keep', 'hidden']) {
    const fallback = blockFor(viewOf('Ours', { source: 'fallback' }), before, rules({ unknown: rule, 0: rule }));
    t.equal(read(fallback, 'utf-8')['StreamTitle'], 'Ours', 'the fallback title passes on every output');
  }
  t.equal(shown(1003, rules({ music: 'keep', 1003: 'pass' }))['StreamTitle'], 'True');
  const cover = { streamUrl: 'cover' };
  t.equal(shown(0, rules({}, cover))['StreamUrl'], 'http://x/c.png');
  t.equal(shown(103, rules({ advertising: 'Ad' }, cover))['StreamUrl'], '', 'no cover of a track that does not pass');
  t.equal(shown(103, rules({ advertising: 'Ad' }, { streamUrl: 'http://x/' }))['StreamUrl'], 'http://x/');
  t.equal(shown(0, rules({}))['StreamUrl'], undefined);
  const images = { images: '{"medium":{"url":"http://x/m.png"}}' };
  t.equal(read(blockFor(viewOf('x', images), null, rules({}, cover)), 'utf-8')['StreamUrl'], 'http://x/m.png');
});

t.test(
  'the fallback title has no content type: no policy keeps it out or rewords it, in a block or in comments',
  async (t) => {
    const own = viewOf('Stay with us', { source: 'fallback', artist: 'Demo', etype: 0 });
    for (const rule of ['keep', 'News']) {
      const options: IcyOptions = { ...UTF8, streamUrl: 'none', etypes: { unknown: rule, 0: rule }, name: 'Demo' };
      t.same(blockFor(own, icyBlock('Before'), options), icyBlock('Demo - Stay with us'), `block, ${rule}`);
      const before = { artist: 'Some', title: 'Before', album: '' };
      t.same(tagsFor(own, before, options), { artist: 'Demo', title: 'Stay with us', album: '' }, `comments, ${rule}`);
      const other = viewOf('Stay with us', { artist: 'Demo', etype: 0 });
      t.same(tagsFor(other, before, options).title, rule === 'keep' ? 'Before' : 'News', 'any other title is under it');
    }
  },
);
