/** Blocks made here, read back by icecast-metadata-js, which knows nothing of how they were made. */

import fc from 'fast-check';
import { IcecastMetadataReader } from 'icecast-metadata-js';
import t, { type Test } from 'tap';
import { parsePushBody } from '../../src/metadata/push-input.js';
import { titleLine } from '../../src/metadata/record.js';
import { decodeTitle, oneLine } from '../../src/metadata/text.js';
import { icyBlock, readEntities, splitTitle } from '../../src/metadata/title.js';
import { PUSH_LIMITS } from '../kit/limits.js';
import { drawSeed } from '../kit/random.js';

const METAINT = 32;
const NO_CHANGE = Buffer.from([0]);

/** What a player sees of a stream: audio, block, audio, "no change", audio. */
function read(block: Buffer): { fields: Record<string, string>[]; audioBytes: number } {
  const fields: Record<string, string>[] = [];
  let audioBytes = 0;
  const reader = new IcecastMetadataReader({
    icyMetaInt: METAINT,
    onMetadata: ({ metadata }) => void fields.push({ ...metadata }),
    onStream: ({ stream }) => void (audioBytes += stream!.length),
  });
  const audio = Buffer.alloc(METAINT, "';StreamTitle='audio");
  reader.readAll(Buffer.concat([audio, block, audio, NO_CHANGE, audio]));
  return { fields, audioBytes };
}

function checkBlock(block: Buffer): void {
  if (block.length > 4081) throw new Error(`${block.length} bytes`);
  if (block.length !== 1 + block[0]! * 16) throw new Error(`length byte ${block[0]} of ${block.length} bytes`);
  if (block.length > 17 && block[block.length - 16] === 0) throw new Error('sixteen bytes of padding too many');
}

function roundTrip(t: Test, title: string, expected: string, name = title.slice(0, 60)): void {
  const block = icyBlock(title);
  checkBlock(block);
  t.strictSame(read(block), { fields: [{ StreamTitle: expected }], audioBytes: 3 * METAINT }, name);
}

t.test('titles through a block and back', async (t) => {
  const kept = [
    '',
    'Artist - Song',
    "Don't Stop 'Til You Get Enough",
    "ends with '",
    "'",
    "''",
    'a; b;',
    "a='b",
    'Motörhead – Ænima “€”',
    '🎵👨‍👩‍👧‍👦🏳️‍🌈',
    'שלום - مرحبا',
    'Café',
    '\ufffd\ufeffx',
    'x'.repeat(1024),
    'é'.repeat(512),
    '🎵'.repeat(256),
    'x'.repeat(4065),
  ];
  for (const title of kept) roundTrip(t, title, title);
  const changed: readonly [string, string][] = [
    ["';StreamUrl='http://x", "' ;StreamUrl='http://x"],
    ["a';b';;c'';", "a' ;b' ;;c'' ;"],
    [';begins', ' ;begins'],
    ["'\0;StreamUrl='x", "' ;StreamUrl='x"],
    ['a\0\0b\r\nc\x7f\u0085d', 'ab c d'],
    ['Cafe\u0301', 'Café'],
    ['x\ud83d', 'x\ufffd'],
    ['\udfb5x', '\ufffdx'],
    ['\ud83c\0\udfb5', '🎵'],
  ];
  for (const [title, expected] of changed) roundTrip(t, title, expected, JSON.stringify(title));
  t.equal(icyBlock('').toString('latin1'), "\x01StreamTitle='';\0");
});

t.test('hostile titles all the way from a push', async (t) => {
  const table: readonly [string, string][] = [
    ["';StreamUrl='http://x", "' ;StreamUrl='http://x"],
    ["'\\u0000;StreamTitle='y", "' ;StreamTitle='y"],
    ['\\ud83d', '\ufffd'],
    ['\\ud83d\\ud83c\\udfb5\\udfb5', '\ufffd🎵\ufffd'],
    ['e\\u0301\\u202e!', 'é\u202e!'],
    ['ħ'.repeat(512), 'ħ'.repeat(512)],
  ];
  for (const [json, expected] of table) {
    const { song } = parsePushBody(Buffer.from(`{"song":"${json}","artist":"","duration":0}`), PUSH_LIMITS).input;
    roundTrip(t, song, expected, json.slice(0, 60));
  }
});

t.test('a title that does not fit is cut, at the end of a character', async (t) => {
  const cases: readonly [string, string, string][] = [
    ['ascii', 'x'.repeat(5000), 'x'.repeat(4065)],
    ['one past', 'x'.repeat(4066), 'x'.repeat(4065)],
    ['two bytes', 'é'.repeat(4000), 'é'.repeat(2032)],
    ['four bytes', '🎵'.repeat(2000), '🎵'.repeat(1016)],
    ['a family of 25 bytes', '👨‍👩‍👧‍👦'.repeat(200), '👨‍👩‍👧‍👦'.repeat(162)],
    ['a mark that has no composed form', `${'x'.repeat(4064)}q\u0301`, 'x'.repeat(4064)],
    ['a quote at the cut', `${'x'.repeat(4064)}'y`, `${'x'.repeat(4064)}'`],
    ['broken pairs count', "';".repeat(2000), `${"' ;".repeat(1355)}`],
  ];
  for (const [name, title, expected] of cases) roundTrip(t, title, expected, name);
  const joined = read(icyBlock('👩\u200d'.repeat(1000))).fields[0]!['StreamTitle']!;
  t.equal(
    joined,
    '👩\u200d'.repeat(1000).slice(0, 1742),
    'one character longer than a block is cut inside: an update is never dropped',
  );
});

t.test('property: any text', async (t) => {
  const hostile = fc.constantFrom(
    "'",
    ';',
    "';",
    "='",
    'StreamUrl',
    '\0',
    '\n',
    '\ud83d',
    '\udfb5',
    '🎵',
    '\u0301',
    'ħ',
  );
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.string({ unit: fc.oneof(hostile, fc.string({ unit: 'binary', maxLength: 1 })), maxLength: 2000 }),
  );
  const check = fc.property(text, (title) => {
    const block = icyBlock(title);
    checkBlock(block);
    const { fields, audioBytes } = read(block);
    if (fields.length !== 1 || audioBytes !== 3 * METAINT) return false;
    if (Object.keys(fields[0]!).join() !== 'StreamTitle') return false;
    const clean = oneLine(title);
    const isWhole = !/^;|';|\p{Surrogate}/u.test(clean) && Buffer.byteLength(clean) <= 4065;
    return !isWhole || fields[0]!['StreamTitle'] === clean;
  });
  const result = fc.check(check, { numRuns: 500, seed: drawSeed() });
  t.notOk(result.failed, fc.defaultReportMessage(result) ?? 'held');
});

t.test('a title of an unknown charset: UTF-8, or the one that is configured where it is not', async (t) => {
  const table: readonly [string, Buffer, string, string?][] = [
    ['UTF-8', Buffer.from('Motörhead € 🎵 “x”'), 'Motörhead € 🎵 “x”', 'shift_jis'],
    ['Windows-1252', Buffer.from([0x81, 0xe4, 0x80]), 'ä€'],
    ['windows-1251', Buffer.from([0xca, 0xe8, 0xed, 0xee]), 'Кино', 'windows-1251'],
    ['shift_jis', Buffer.from([0x83, 0x65, 0x83, 0x58]), 'テス', 'Shift_JIS'],
    ['cut within a character of two bytes', Buffer.from([0x83, 0x65, 0x83]), 'テ', 'shift_jis'],
    ['UTF-8, cut within one of two', Buffer.from('Björk é').subarray(0, -1), 'Björk '],
    ['UTF-8, cut within one of four', Buffer.from('Björk 🎵').subarray(0, -1), 'Björk '],
    ['what looks like a cut character behind ASCII', Buffer.from('Caf\xe9', 'latin1'), 'Café'],
    ['the same behind other bytes of Windows-1252', Buffer.from('\xc9t\xe9', 'latin1'), 'Été'],
    ['nothing', Buffer.alloc(0), ''],
  ];
  for (const [name, bytes, text, charset] of table) t.equal(decodeTitle(bytes, charset), text, name);
});

t.test('splitting a line', async (t) => {
  const table: readonly [string, string, string, string][] = [
    ['A - B', 'A', 'B', ' - '],
    ['A - B - C', 'A', 'B - C', ' - '],
    ['A-B', '', 'A-B', ' - '],
    ['', '', '', ' - '],
    [' - B', '', 'B', ' - '],
    ['A - ', 'A', '', ' - '],
    ['Björk – Jóga', 'Björk', 'Jóga', ' – '],
    ['A – B – C', 'A', 'B – C', ' – '],
    ['A – B - C', 'A – B', 'C', ' - '],
    ['A–B', '', 'A–B', ' - '],
  ];
  for (const [line, artist, song, separator] of table) {
    const split = splitTitle(line);
    t.strictSame(split, { artist, song, separator }, line);
    if (artist !== '' && song !== '') t.equal(titleLine(split), line, 'together they are the line again');
  }
});

t.test('entities: numeric and named ones with their semicolon, read once', async (t) => {
  const table: readonly [string, string][] = [
    ['Björk &#8211; Jóga', 'Björk – Jóga'],
    ['&#x41f;&#1087;', 'Пп'],
    ['Rock &amp; Roll', 'Rock & Roll'],
    ['Caf&eacute; &quot;x&quot; &apos;y&#39;', 'Café "x" \'y\''],
    ['R&B, AT&T, Q&A;, &copy 2026, &#8211', 'R&B, AT&T, Q&A;, &copy 2026, &#8211'],
    ['&amp;#8211;', '&#8211;'],
    ['a&#0;b&#7;d', 'a\ufffdb\x07d'],
    ['&#xd800;&#x110000;', '\ufffd\ufffd'],
    ['e&#769;', 'e\u0301'],
  ];
  for (const [text, read] of table) t.equal(readEntities(text), read, text);
});
