/** The framings of an encoder's body: the audio in them whatever the pieces, their ends, and what is broken. */

import t from 'tap';
import type { BodyState } from '../../src/source/body.js';
import { bodyOf, type EncoderBody, resumedBody } from '../../src/source/dechunk.js';
import { Random } from '../kit/random.js';

const CHUNKED = { 'transfer-encoding': 'chunked' };

function body(headers: Record<string, string>): EncoderBody {
  return bodyOf(new Map(Object.entries(headers)))!;
}

/** What comes out of these pieces, and the last state. */
function read(headers: Record<string, string>, pieces: readonly Buffer[]): [string, BodyState] {
  const reader = body(headers);
  let audio = '';
  let state: BodyState = 'more';
  for (const piece of pieces) {
    const taken = reader.push(piece, { onAudio: (bytes) => void (audio += bytes.toString('latin1')) });
    if (taken !== piece.length) throw new Error(`${taken} bytes of ${piece.length}`);
    state = reader.state;
  }
  return [audio, state];
}

/** The same where another process goes on with the second piece. */
function readOn(headers: Record<string, string>, [first, second]: readonly [Buffer, Buffer]): [string, BodyState] {
  let audio = '';
  const sink = { onAudio: (bytes: Buffer) => void (audio += bytes.toString('latin1')) };
  const before = body(headers);
  before.push(first, sink);
  const after = resumedBody(JSON.parse(JSON.stringify(before.position)));
  after.push(second, sink);
  return [audio, after.state];
}

const readText = (text: string, headers: Record<string, string> = CHUNKED) =>
  read(headers, [Buffer.from(text, 'latin1')]);

t.test('chunks, at every split point', async (t) => {
  const table: readonly [string, string, BodyState][] = [
    ['5\r\nabcde\r\n', 'abcde', 'more'],
    ['5\nabcde\n3\nfgh\n0\n\n', 'abcdefgh', 'end'],
    ['5\r\r\nabcde\r\r\n0\r\r\n\r\r\n', 'abcde', 'end'],
    ['00000005;name="x;y"\r\nabcde\r\n', 'abcde', 'more'],
    [' 5 \r\nabcde\r\n  0 \r\nTrailer: 1\r\nOther: 2\r\n\r\nmore', 'abcde', 'end'],
    ['A\r\n\r\n0\r\n\r\n0\r\n\r\n0\r\n\r\n', '\r\n0\r\n\r\n0\r\n', 'end'],
    ['1e\r\n'.concat('x'.repeat(30), '\r\n1E\r\n', 'y'.repeat(30)), 'x'.repeat(30) + 'y'.repeat(30), 'more'],
    ['5\r\nabcdeX', 'abcde', 'broken'],
    ['5\r\nabcdeX5\r\nabcde\r\n', 'abcde', 'broken'],
    ['5 5\r\nabc', '', 'broken'],
    ['\r\n5\r\nabcde', '', 'broken'],
    ['-5\r\nabcde', '', 'broken'],
    ['0x5\r\nabcde', '', 'broken'],
    [';x\r\n', '', 'broken'],
    ['\xff\xfb\x90\x64', '', 'broken'],
    ['FFFFFFFF\r\nab', 'ab', 'more'],
    ['1FFFFFFFF\r\nab', '', 'broken'],
    ['', '', 'more'],
  ];
  for (const [text, audio, state] of table) {
    const bytes = Buffer.from(text, 'latin1');
    const name = JSON.stringify(text.slice(0, 40));
    t.same(readText(text), [audio, state], name);
    for (let cut = 1; cut < bytes.length; cut++) {
      const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)] as const;
      t.same(read(CHUNKED, pieces), [audio, state], `${name} cut at ${cut}`);
      t.same(readOn(CHUNKED, pieces), [audio, state], `${name} goes on at ${cut}`);
    }
    if (text !== '')
      t.same(
        read(
          CHUNKED,
          Array.from(bytes, (byte) => Buffer.of(byte)),
        ),
        [audio, state],
        `${name} by bytes`,
      );
  }
});

t.test('a size line and all trailers: 4,096 bytes, and one more', async (t) => {
  t.same(readText(`1;${'x'.repeat(4092)}\r\na`), ['a', 'more']);
  t.same(readText(`1;${'x'.repeat(4093)}\r\na`), ['', 'broken']);
  t.same(readText(`0\r\n${'X: y\r\n'.repeat(682)}\r\n`), ['', 'end'], '4,094');
  t.same(readText(`0\r\n${'X: y\r\n'.repeat(683)}\r\n`), ['', 'broken'], '4,100');
});

t.test('a length, and none', async (t) => {
  t.same(readText('abcdef', { 'content-length': '5' }), ['abcde', 'end'], 'what comes after it is ignored');
  t.same(readText('abcd', { 'content-length': '5' }), ['abcd', 'more']);
  t.same(
    read(
      { 'content-length': '5' },
      ['ab', 'cde', 'f'].map((text) => Buffer.from(text)),
    ),
    ['abcde', 'end'],
  );
  t.same(readText('0\r\n\r\n', {}), ['0\r\n\r\n', 'more']);
  t.same(readText('abc', { 'transfer-encoding': 'identity' }), ['abc', 'more']);
  t.same(readText('1\r\na\r\n', { ...CHUNKED, 'content-length': '2' }), ['a', 'more'], 'chunks count more');
  t.same(readText('1\r\na\r\n', { 'transfer-encoding': 'Chunked' }), ['a', 'more']);
  for (const headers of [
    { 'transfer-encoding': 'gzip, chunked' },
    { 'content-length': '-1' },
    { 'content-length': '5, 5' },
    { 'content-length': '' },
  ]) {
    t.equal(bodyOf(new Map(Object.entries(headers))), null, JSON.stringify(headers));
  }
});

t.test('whatever is sent in whatever chunks comes out as it was', async (t) => {
  const random = new Random();
  for (let run = 0; run < 2000; run++) {
    const audio = random.bytes(random.int(0, 400));
    const parts: Buffer[] = [];
    for (let from = 0; from < audio.length; ) {
      const part = audio.subarray(from, from + random.int(1, 200));
      from += part.length;
      const extension = random.chance(0.2) ? ';a=b' : '';
      const end = random.chance(0.5) ? '\r\n' : '\n';
      parts.push(Buffer.from(part.length.toString(16) + extension + end), part, Buffer.from(end));
    }
    const bytes = Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
    const pieces: Buffer[] = [];
    for (let from = 0; from < bytes.length; ) {
      const piece = bytes.subarray(from, from + random.int(1, 60));
      from += piece.length;
      pieces.push(piece);
    }
    const [came, state] = read(CHUNKED, pieces);
    if (state !== 'end' || came !== audio.toString('latin1')) return void t.fail(`seed ${random.seed}, run ${run}`);
  }
  t.pass('2,000 bodies');
});

t.test('a body of a length, and one without, go on anywhere', async (t) => {
  const bytes = Buffer.from('abcdefgh');
  for (let cut = 0; cut < bytes.length; cut++) {
    const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)] as const;
    t.same(readOn({ 'content-length': '6' }, pieces), ['abcdef', 'end']);
    t.same(readOn({}, pieces), ['abcdefgh', 'more']);
  }
});
