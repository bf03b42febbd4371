/** The request line of a push as Node's parser takes it, byte by byte and at random. */

import fc from 'fast-check';
import t from 'tap';
import { PushLine } from '../../src/http/push-line.js';
import { costRatio } from '../kit/cost.js';

const bytes = (text: string) => Buffer.from(text, 'latin1');
const HEAD = ' HTTP/1.1\r\nHost: x y\xe4\r\n\r\n';

/** What comes out of one connection's first request. */
function repaired(text: string, cuts: readonly number[] = []): { out: string; isRepaired: boolean } {
  const line = new PushLine();
  let out = '';
  let from = 0;
  for (const cut of [...cuts, text.length]) {
    out += line.repair(bytes(text.slice(from, cut))).toString('latin1');
    from = cut;
  }
  return { out, isRepaired: line.isRepaired };
}

t.test('what is sent, and what the parser gets', async (t) => {
  const table: readonly [string, string][] = [
    ['GET /metapush/a/b?song=A B C', 'GET /metapush/a/b?song=A%20B%20C'],
    ['POST //metapush//a/b/?song=J\xf3ga\xff', 'POST //metapush//a/b/?song=J%F3ga%FF'],
    ['\r\n\nGET /metapush/a/b?song=x ', '\r\n\nGET /metapush/a/b?song=x'],
    ['GET /metapush/a/b?song=x  y   ', 'GET /metapush/a/b?song=x%20%20y'],
    ['GET /metapush/a/b?song=HTTP/1.1 HTTP/1.1', 'GET /metapush/a/b?song=HTTP/1.1%20HTTP/1.1'],
    ['GET /metapush/a/b?song=x HTTP/1.1x HTTP/1', 'GET /metapush/a/b?song=x%20HTTP/1.1x%20HTTP/1'],
    [`GET /metapush/a/b?song=x${' '.repeat(1000)}y`, `GET /metapush/a/b?song=x${'%20'.repeat(1000)}y`],
  ];
  for (const [sent, got] of table) {
    t.same(repaired(sent + HEAD), { out: got + HEAD, isRepaired: true }, sent.slice(0, 80));
  }
});

t.test('what passes untouched', async (t) => {
  for (const sent of [
    'GET /metapush/a/b?song=%20%zz#?&;"<>{}|^`\\',
    'GET /metapush/a/b',
    'GET /metapushes/a b',
    'GET /metadata/a b',
    'HEAD /metapush/a b',
    'PUT /metapush/a b',
    'get /metapush/a b',
    'GET  /metapush/a b',
    'GET metapush/a b',
    'GET http://x/metapush/a b',
    '\xff',
  ]) {
    t.same(repaired(sent + HEAD), { out: sent + HEAD, isRepaired: false }, sent);
  }
  t.equal(
    repaired('GET /metapush/a b\x00\t\x7f HTTP/1.0\n').out,
    'GET /metapush/a%20b\x00\t\x7f HTTP/1.0\n',
    'controls',
  );
});

t.test('a line without a protocol is none that Node takes', async (t) => {
  t.equal(repaired('GET /metapush/a b\r\n').out, 'GET /metapush/a%20b \r\n');
  t.equal(repaired('GET /metapush/a b HTTP/1.\r\n').out, 'GET /metapush/a%20b%20HTTP/1. \r\n');
  t.equal(repaired('GET /metapush/a b HTTP/1.1 \r\n').out, 'GET /metapush/a%20b%20HTTP/1.1%20 \r\n');
  t.equal(repaired('GET /metapush/a\r\n').out, 'GET /metapush/a\r\n');
});

t.test('the next request of a connection is repaired anew', async (t) => {
  const line = new PushLine();
  const say = (text: string) => line.repair(bytes(text)).toString('latin1');
  t.equal(say('GET / HTTP/1.1\r\n\r\n'), 'GET / HTTP/1.1\r\n\r\n');
  t.equal(
    say('GET /metapush/a b HTTP/1.1\r\n'),
    'GET /metapush/a b HTTP/1.1\r\n',
    'not behind a request that is not over',
  );
  line.begin();
  t.equal(say('GET /metapush/a b HTTP/1.1\r\n'), 'GET /metapush/a%20b HTTP/1.1\r\n');
  t.ok(line.isRepaired);
  line.begin();
  t.notOk(line.isRepaired);
});

t.test('however it is cut, and whatever it holds', async (t) => {
  const word = fc.constantFrom(
    'GET ',
    'POST ',
    '/',
    'metapush/',
    ' ',
    'HTTP/1.',
    '1',
    '0',
    '\r',
    '\n',
    'a',
    '\xe4',
    '?song=',
  );
  const texts = fc.array(word, { maxLength: 24 }).map((words) => words.join(''));
  const sent = fc.oneof(
    texts,
    texts.map((text) => `GET /metapush/${text} HTTP/1.1\r\n\r\n`),
  );
  fc.assert(
    fc.property(sent, fc.array(fc.nat(80), { maxLength: 6 }), (text, some) => {
      const cuts = some.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b);
      const whole = repaired(text);
      const cut = repaired(text, cuts);
      t.same(cut, whole, JSON.stringify([text, cuts]));
      const end = whole.out.search(/(?<=[^\r\n])[\r\n]/);
      if (/^[\r\n]*GET \/metapush\//.test(text) && end >= 0) {
        const first = whole.out.slice(0, end);
        t.ok(/^[\x00-\x7f]*$/.test(first) && first.trimStart().split(' ').length <= 3, JSON.stringify(first));
      }
    }),
    { numRuns: 500 },
  );
});

t.test('what grows most takes time by its length, and its line is bounded by what came', async (t) => {
  for (const much of [' ', '\xff', ' \xff', ' HTTP/1.']) {
    const sent = (bytes: number) => `GET /metapush/${much.repeat(bytes / much.length)}`;
    const { out } = repaired(sent(65_536));
    t.ok(out.length <= 3 * sent(65_536).length && !/[^\x20-\x7e]/.test(out));
    const ratio = await costRatio(
      24,
      () => repaired(sent(65_536)),
      () => repaired(sent(65_536 / 8)),
    );
    t.ok(ratio < 24, `${JSON.stringify(much)}: eight times as much takes ${ratio} times as long`);
  }
});
