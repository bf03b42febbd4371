/** The access log's lines: nothing from outside breaks one, and no secret or whole address stands in it where it should not. */

import t from 'tap';
import { quoted, stamp } from '../../src/listener/access-line.js';
import { Random } from '../kit/random.js';

t.test('quoted as Apache does', async (t) => {
  const cases = [
    ['', '"-"'],
    ['VLC/3.0.18 LibVLC/3.0.18', '"VLC/3.0.18 LibVLC/3.0.18"'],
    ['a "b" c\\d', '"a \\"b\\" c\\\\d"'],
    ['x" 200 0 "-" "forged', '"x\\" 200 0 \\"-\\" \\"forged"'],
    ['a\r\n127.0.0.1 - -\t\u0000\u001b[2J\u007f', '"a\\r\\n127.0.0.1 - -\\t\\x00\\x1b[2J\\x7f"'],
    ['é€\u{1f4fb}', '"\\xc3\\xa9\\xe2\\x82\\xac\\xf0\\x9f\\x93\\xbb"'],
  ];
  for (const [text, line] of cases) t.equal(quoted(text!), line);
});

t.test('whatever comes, a quoted text is one field of visible ASCII', async (t) => {
  const random = new Random();
  for (let i = 0; i < 2000; i++) {
    const text = random.bytes(random.int(0, 40)).toString(random.chance(0.5) ? 'latin1' : 'utf8');
    const line = quoted(text);
    if (!/^"(?:[ !#-[\]-~]|\\["\\nrt]|\\x[0-9a-f]{2})*"$/.test(line)) t.fail(`seed ${random.seed}: ${line}`);
  }
  t.pass();
});

t.test('the time', async (t) => {
  t.equal(stamp(Date.UTC(2026, 10, 1, 7, 2, 34, 999)), '[01/Nov/2026:07:02:34 +0000]');
});
