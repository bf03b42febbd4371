/** Nothing that a stranger sends is obeyed by a terminal. */

import t from 'tap';
import { printable, printableJson } from '../../src/cli/printable.js';

const HOSTILE = ['\u001b[2J', '\u009b31m', '\u202eabc', '\u2066x\u2069', 'a\r\nb', 'a\u2028b', '\u0007', '\u0000'];

t.test('texts', async (t) => {
  for (const text of HOSTILE) t.notMatch(printable(text), /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u);
  t.equal(printable('Sigur Rós – Hoppípolla 🎶 שלום'), 'Sigur Rós – Hoppípolla 🎶 שלום');
  t.equal(printable(7), '7', 'of whatever type it came');
});

t.test('JSON', async (t) => {
  const text = printableJson(HOSTILE);
  t.notMatch(text, /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u);
  t.same(JSON.parse(text), HOSTILE);
});
