/** Forms as multipart/form-data: what encoders of this world write, what frames a part, and what is malformed. */

import fc from 'fast-check';
import t from 'tap';
import { boundaryOf, type FormParts, formParts } from '../../src/metadata/multipart.js';
import { costRatio } from '../kit/cost.js';

const parts = (body: string, boundary = 'b', most = 8): FormParts =>
  formParts(Buffer.from(body, 'latin1'), boundary, most);
const texts = (read: FormParts) =>
  typeof read === 'string' ? read : [...read].map(([name, { bytes }]) => [name, bytes.toString('latin1')]);

t.test('the boundary of a content type', async (t) => {
  const table: readonly [string, string | null][] = [
    ['multipart/form-data; boundary=b', 'b'],
    ['Multipart/Form-Data;charset=utf-8; Boundary="a b:c" ; x=y', 'a b:c'],
    [`multipart/form-data; boundary=${'b'.repeat(200)}`, 'b'.repeat(200)],
    [`multipart/form-data; boundary=${'b'.repeat(201)}`, null],
    ['multipart/form-data', null],
    ['multipart/form-data; boundary=', null],
    ['multipart/form-data; xboundary=b', null],
    ['multipart/mixed; boundary=b', null],
    ['', null],
  ];
  for (const [type, boundary] of table) t.equal(boundaryOf(type), boundary, type);
});

t.test('parts', async (t) => {
  const song = '--b\r\nContent-Disposition: form-data; name="song"\r\n\r\nJ\xf3ga\r\n';
  t.same(texts(parts(`${song}--b--`)), [['song', 'J\xf3ga']]);
  t.same(texts(parts(`preamble\r\n${song}--b-- \r\nepilogue`)), [['song', 'J\xf3ga']]);
  t.same(texts(parts('--b--')), []);
  t.same(texts(parts(`${song}${song.replace('J\xf3ga', '2')}--b--`)), [['song', '2']], 'the last one counts');
  t.same(
    texts(parts('--b \t\r\ncontent-disposition:form-data;NAME=Song;filename=x\r\nX: y\r\n\r\n--\r\n-b\r\n\r\n--b--')),
    [['song', '--\r\n-b\r\n']],
    'what only looks like a boundary is text, and so is a file',
  );
  t.same(texts(parts('--b\r\nContent-Disposition: form-data; name=song\r\n\r\n--b--')), [['song', '']], 'no value');
  // As components of Delphi send it.
  const old = 'Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset="Windows-1252"\r\n';
  const quoted = parts(`--b\r\n${old}Content-Transfer-Encoding: quoted-printable\r\n\r\nJ=F3ga =\r\n=3D=zz \r\n--b--`);
  t.same(texts(quoted), [['a', 'J\xf3ga =zz'.replace('=zz', '==zz')]]);
  t.equal(typeof quoted === 'string' ? '' : quoted.get('a')!.charset, 'windows-1252');
  t.same(texts(parts(`--b\r\n${old}Content-Transfer-Encoding: BASE64\r\n\r\nSvNn\r\nYQ==\r\n--b--`)), [
    ['a', 'J\xf3ga'],
  ]);
});

t.test('blanks in a quoted-printable part cost no more than other bytes', async (t) => {
  const head = '--b\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n';
  const value = `${' '.repeat(60_000)}x`;
  t.same(texts(parts(`${head}${value} \t\r\ny\r\n--b--`)), [['a', `${value}\r\ny`]]);
  const read = (byte: string) => () => parts(`${head}${byte.repeat(60_000)}x \t\r\ny\r\n--b--`);
  const ratio = await costRatio(10, read(' '), read('x'));
  t.ok(ratio < 10, `${ratio} times as long`);
});

t.test('what is malformed, or too much', async (t) => {
  for (const body of [
    '',
    '--b',
    '--bx\r\n\r\n--b--',
    '--b\n\n\n--b--',
    '--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx',
    '--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b',
    '--b\r\nContent-Disposition: form-data; name=a\r\nx\r\n--b--',
    '--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--',
    '--b\r\n\r\nx\r\n--b--',
  ]) {
    t.equal(parts(body), 'malformed', JSON.stringify(body));
  }
  const many = (count: number) => `${'--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n'.repeat(count)}--b--`;
  t.same(texts(parts(many(8))), [['a', '']]);
  t.equal(parts(many(9)), 'too-many');
});

/** Without half a character. */
const isWhole = (text: string) => Buffer.from(text).toString() === text;

t.test('what undici writes is read as it was meant', async (t) => {
  const name = fc
    .string({ minLength: 1, maxLength: 8, unit: 'grapheme' })
    .filter((text) => !/["\\\r\n]/.test(text) && isWhole(text));
  const value = fc
    .oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\r\n--', '\r\n\r\n', '--'))
    .filter((text) => isWhole(text));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 5 }), async (pairs) => {
      const form = new FormData();
      const meant = new Map<string, string>();
      for (const [key, text] of pairs) {
        form.set(key, text);
        meant.set(key.toLowerCase(), text.replace(/\r\n|\r|\n/g, '\r\n'));
      }
      const request = new Request('http://x', { method: 'POST', body: form });
      const body = Buffer.from(await request.arrayBuffer());
      const read = formParts(body, boundaryOf(request.headers.get('content-type')!)!, 8);
      if (typeof read === 'string') throw new Error(`${read}: ${body}`);
      for (const [key, { bytes }] of read) {
        const [got, want] = [bytes.toString(), meant.get(key)];
        if (got !== want) throw new Error(JSON.stringify([key, got, want]));
      }
      if (read.size !== meant.size) throw new Error(`${read.size} of ${meant.size}`);
    }),
    { numRuns: 100 },
  );
  t.pass('each form');
});

t.test('any bytes are read or refused, in time that grows with their number', async (t) => {
  const word = fc.constantFrom(
    '--b',
    '\r\n',
    '--',
    'Content-Disposition: form-data;',
    ' name="',
    '"',
    'x',
    '\\',
    ';',
    '=',
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 40 }), (words) => void parts(words.join(''))),
    { numRuns: 500 },
  );
  for (const much of ['\r\n--b', '\r\n--', '; name="', '\\', '\r\n\r\n', '=\r\n']) {
    const read = (bytes: number) => () =>
      parts(`--b\r\nContent-Disposition: form-data; name=a${much.repeat(bytes / much.length)}`, 'b', 64);
    const ratio = await costRatio(24, read(65_536), read(65_536 / 8));
    t.ok(ratio < 24, `${JSON.stringify(much)}: eight times as much takes ${ratio} times as long`);
  }
});
