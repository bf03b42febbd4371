/** What is said rarely, as text and back: bytes and maps too, members of a newer version, and what is no such text. */

import t from 'tap';
import { z } from 'zod';
import { bytes, decode, encode, mapOf, parse } from '../../src/metadata/codec.js';
import { CheckError } from '../../src/metadata/record-schema.js';

const MAX_BYTES = 4;
const schema = z.looseObject({
  name: z.string(),
  part: z.looseObject({ audio: bytes(MAX_BYTES) }),
  headers: mapOf(z.string(), 2),
});

t.test('what is encoded is decoded', async (t) => {
  for (const length of [0, 1, MAX_BYTES]) {
    const value = {
      name: 'ä"\n',
      part: { audio: Buffer.from([255, 0, 128, 7]).subarray(0, length) },
      headers: new Map([['a', 'b']]),
    };
    t.strictSame(decode(schema, encode(value)), value, `${length} bytes`);
  }
});

t.test('a member that only a newer version knows is no fault', async (t) => {
  const text = encode({ name: 'x', part: { audio: Buffer.of(1), more: 1 }, headers: new Map(), more: { a: [null] } });
  t.match(decode(schema, text), { name: 'x', more: { a: [null] } });
});

t.test('what cannot be read names the member', async (t) => {
  const value = { name: 'x', part: { audio: Buffer.of(1) }, headers: new Map() };
  const refused = (text: string, reason: RegExp) => {
    t.throws(() => decode(schema, text), { name: CheckError.name, message: reason }, text);
  };
  refused('', /^it is not JSON$/);
  refused('{"name":', /^it is not JSON$/);
  refused('null', /^it: /);
  refused(encode({ ...value, name: 1 }), /^name: /);
  refused(encode({ ...value, part: { audio: Buffer.alloc(MAX_BYTES + 1) } }), /^part\.audio: /);
  refused(encode({ ...value, part: { audio: 'A*==' } }), /^part\.audio: /);
  refused(encode({ ...value, part: { audio: { type: 'Buffer', data: [1] } } }), /^part\.audio: /);
  refused(encode({ ...value, headers: { a: 'b' } }), /^headers: /);
  refused(encode({ ...value, headers: [['a', 1]] }), /^headers\.0\.1: /);
  refused(encode({ ...value, headers: Array(3).fill(['a', 'b']) }), /^headers: /);
});

t.test('at most a hundred levels: what is kept, known or not, can be written again', async (t) => {
  const list = (levels: number, inside: string) => '['.repeat(levels) + inside + ']'.repeat(levels);
  const inside = JSON.stringify({ '[': `"\\${'[{'.repeat(200)}\\`, '\\': [] });
  t.strictSame(parse(list(98, inside)), JSON.parse(list(98, inside)), 'brackets of texts are none');
  for (const [text, is] of [
    [list(99, inside), 'one more'],
    ['{"a":'.repeat(101), 'cut off'],
    [list(100_000, ''), 'very deep'],
  ] as const)
    t.throws(() => parse(text), { name: CheckError.name, message: 'it is nested too deeply' }, is);
  t.throws(() => parse(`"${'x'.repeat(300)}`), { message: 'it is not JSON' }, 'a text without an end');
  t.strictSame(parse(JSON.stringify(Array(1000).fill([{}]))), Array(1000).fill([{}]), 'beside each other');
});
