/** Clean text: what is left of any text, and what it costs to find out. */

import t from 'tap';
import { cleanText, cleanWithin, cutUnclean, oneLine } from '../../src/metadata/text.js';
import { cutText, cutTitle } from '../../src/metadata/title.js';
import { costRatio } from '../kit/cost.js';
import { Random } from '../kit/random.js';

/** Marks of different order, some of which normalising takes apart, and what they may stand on. */
const MARKS = ['\u0301', '\u0316', '\u0344', '\u0f71\u0f72', '\u0f73', '\u0f81', '\u3099', '\u{1d165}', '\u034f'];
const BASES = [
  ' ',
  '\n',
  '\u200b',
  'a',
  'ä',
  '\u0958',
  '\ufb1d',
  '\u1f82',
  '\u{1d160}',
  '\u1100\u1161\u11a8',
  '\u09c7',
  '\u09be',
  '🎵',
];

t.test('a character has at most 30 combining marks, at the limit and one past it', async (t) => {
  const marked = (count: number) => `x${'\u0316'.repeat(count)}y`;
  t.equal(cleanText(marked(30)), marked(30));
  t.equal(cleanText(marked(31)), marked(30));
  t.equal(cleanText(marked(1000) + marked(1000)), marked(30) + marked(30));
  t.equal(cleanText('क्षत्रिय நிகழ்ச்சி བསྒྲུབས ไม่มีปัญหา'), 'क्षत्रिय நிகழ்ச்சி བསྒྲུབས ไม่มีปัญหา', 'languages that write many');
});

t.test('controls, and what programs have for themselves, are no part of a text', async (t) => {
  t.equal(cleanText('a\0b\x1f\x7f\x9fc\ufdcf\ufdd0\ufdef\ufdf0'), 'abc\ufdcf\ufdf0');
});

t.test('a text has one line, and nothing unseen at its ends', async (t) => {
  const table: readonly [string, string][] = [
    [' \u00a0\u3000a b\u2003 ', 'a b'],
    ['\ufeff\u200b\u200c\u200d\u2060a\u200db\u2060\ufeff', 'a\u200db'],
    ['a\r\nb\tc\nd\re', 'a b c d e'],
    ['a\v\f\u0085\u2028\u2029b', 'a b'],
    ['\r\n a \t', 'a'],
    [' \t\r\n\u00a0\u200b\ufeff', ''],
    ['a  b', 'a  b'],
    ['\u200e!\u200f', '\u200e!\u200f'], // they say in which direction the text runs
  ];
  for (const [text, clean] of table) t.equal(cleanText(text), clean, encodeURIComponent(text));
  t.equal(oneLine(' -\n'), ' - ', 'of a separator the ends count');
  t.equal(cutTitle(`${'x'.repeat(9)} y`, 10), 'x'.repeat(9), 'nor where it was cut');
});

t.test('any text is clean after one cleaning: a second one finds nothing', async (t) => {
  const random = new Random(7);
  for (let n = 0; n < 5000; n++) {
    let text = '';
    for (let runs = random.int(1, 5); runs > 0; runs--) {
      text += BASES[random.int(0, BASES.length - 1)]!;
      for (let kinds = random.int(0, 3); kinds > 0; kinds--)
        text += MARKS[random.int(0, MARKS.length - 1)]!.repeat(random.int(1, 40));
    }
    const clean = cleanText(text);
    if (clean === cleanText(clean) && clean === clean.normalize('NFC') && !/\p{M}{31}/u.test(clean)) continue;
    t.fail(JSON.stringify(text));
    return;
  }
  t.pass('no text was found that is not');
});

t.test('marks in the worst order cost no more than their length', async (t) => {
  for (const first of MARKS) {
    for (const second of MARKS) {
      const half = (mark: string, bytes: number) => mark.repeat(bytes / 2 / Buffer.byteLength(mark));
      const clean = (bytes: number) => () => cleanText(`a${half(first, bytes)}${half(second, bytes)}`);
      // Normalised as they are, some of these take a second: with the square of their length.
      const ratio = await costRatio(24, clean(64_000), clean(8000));
      if (ratio < 24) continue;
      t.fail(`${JSON.stringify(first + second)}: eight times as many take ${ratio} times as long`);
      return;
    }
  }
  t.pass('in time');
});

t.test('a limit counts what is left; a text that cannot fit is not cleaned at all', async (t) => {
  // Three jamo, 9 bytes, are one syllable of 3: no text is shortened more.
  t.equal(cleanWithin('\u1100\u1161\u11a8'.repeat(5), 15), '각'.repeat(5));
  t.equal(cleanWithin('\u1100\u1161\u11a8'.repeat(5), 14), null);
  t.equal(cleanWithin(`${'\0'.repeat(30)}${'x'.repeat(15)}`, 15), 'x'.repeat(15));
  t.equal(cleanWithin(`${'\0'.repeat(31)}${'x'.repeat(15)}`, 15), null, 'one byte past what can be shortened');
  t.equal(cleanWithin('\u0958'.repeat(2), 12), '\u0915\u093c'.repeat(2), 'one that becomes longer');
  t.equal(cleanWithin('\u0958'.repeat(2), 11), null);
});

t.test('a cut text ends where a reader sees a character end, however long it was', async (t) => {
  t.equal(cutUnclean('ä'.repeat(10), 3), 'ä'.repeat(4));
  t.equal(cutTitle('\u1100\u1161\u11a8'.repeat(1000), 1024), '각'.repeat(341));
  t.equal(cutTitle('x'.repeat(60_000), 1024), 'x'.repeat(1024));
  t.equal(cutText('👩‍👩‍👧x', 12), '👩‍👩‍👧'.slice(0, 5), 'longer than the limit: between code points');
  t.equal(cutText('ab👩‍👩‍👧x', 12), 'ab');
  t.equal(cutText('🇨🇭🇩🇪', 12), '🇨🇭');
});
