import t from 'tap';
import { meant } from '../../src/base/spelling.js';

const NAMES = [
  'port',
  'name',
  'host',
  'tls',
  'url',
  'burstSeconds',
  'lagSeconds',
  'reload',
  'restart',
  'status',
  'start',
];
const of = (word: string) => /^; did you mean (.+)\?$/.exec(meant(word, NAMES))?.[1];

t.test('one slip, in short names too: swapped, missing, too many, another', async (t) => {
  const slips = {
    prot: 'port',
    naem: 'name',
    hots: 'host',
    tsl: 'tls',
    ulr: 'url',
    por: 'port',
    portt: 'port',
    part: 'port',
  };
  for (const [word, name] of Object.entries(slips)) t.equal(of(word), name, word);
});

t.test('more slips in longer names, and the beginning of one', async (t) => {
  const slips = {
    satus: 'status',
    relode: 'reload',
    restrat: 'restart',
    lagsecnods: 'lagSeconds',
    BurstSecond: 'burstSeconds',
  };
  for (const [word, name] of Object.entries(slips)) t.equal(of(word), name, word);
  t.equal(of('burst'), 'burstSeconds');
});

t.test('nothing silly', async (t) => {
  for (const word of ['', 'x', 'form', 'bass', 'gain', 'nothingLikeIt', 'trop', 'b'])
    t.equal(of(word), undefined, word);
  t.equal(of('x'.repeat(100_000)), undefined);
});
