/** Nothing that a stranger sends is obeyed by a terminal. */

import t from 'tap';
import { printable, printableJson, printableLines } from '../../src/base/printable.js';

const OBEYED = ['\u001b[2J', '\u009b31m', 'a\r\nb', 'a\u0085b', 'a\u2028b', 'a\u2029b', '\u0007', '\u0000', '\u007f'];
/** The last one is outside the Basic Multilingual Plane. */
const FORMAT = ['\u202eabc', '\u2066x\u2069', '\u061cx', 'a\u200bb', 'a\u00adb', '\ufeffx', 'a\u{e0041}b'];
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

t.test('texts', async (t) => {
  for (const text of [...OBEYED, ...FORMAT]) t.notMatch(printable(text), UNPRINTABLE, encodeURIComponent(text));
  t.equal(printable('a\r\nb\u2028c'), 'a  b c', 'what parts words still does');
  t.equal(printable('a\u202eb\u{e0041}c'), 'abc');
  t.equal(printable('Sigur Rós – Hoppípolla 🎶 שלום'), 'Sigur Rós – Hoppípolla 🎶 שלום');
  t.equal(printable(7), '7', 'of whatever type it came');
});

t.test('lines', async (t) => {
  t.equal(printableLines('one\u001b[2J\ntwo\r\n\u202ethree\n'), 'one [2J\ntwo \nthree\n');
});

t.test('JSON', async (t) => {
  const values = { [OBEYED[1]!]: OBEYED, format: FORMAT };
  const text = printableJson(values);
  t.notMatch(text, UNPRINTABLE);
  t.match(text, '\\u009b31m');
  t.same(JSON.parse(text), values, 'nothing is lost');
});
