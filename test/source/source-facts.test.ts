/** What a source says of itself: names of both families, charsets, limits, and nothing that could begin a head of its own. */

import t from 'tap';
import { type RequestHead, RequestHeadParser } from '../../src/net/front/request-head.js';
import { readFacts } from '../../src/source/source-facts.js';

const HEAD_LIMITS = { headBytes: 8192, headLines: 64 };
const LIMITS = { textBytes: 16, urlBytes: 32 };
const NOTHING = {
  name: '',
  genre: '',
  url: '',
  description: '',
  public: undefined,
  bitrateKbps: 0,
  sampleRate: 0,
  channels: 0,
  audioInfo: '',
  contentType: '',
};

function facts(...lines: (string | Buffer)[]) {
  return factsIn(undefined, ...lines);
}

function factsIn(charset: string | undefined, ...lines: (string | Buffer)[]) {
  const parser = new RequestHeadParser(HEAD_LIMITS);
  const head = ['PUT /x HTTP/1.1', ...lines, '', ''].flatMap((line) => [Buffer.from(line), Buffer.from('\n')]);
  const result = parser.push(Buffer.concat(head));
  if (result === 'more' || 'kind' in result) throw new Error('no head');
  return readFacts(result, LIMITS, charset);
}

t.test('both families of names; ice before icy; headers that say nothing', async (t) => {
  t.same(facts('User-Agent: x'), NOTHING);
  t.match(
    facts(
      'ice-name: A',
      'icy-name: B',
      'icy-genre:C',
      'Ice-URL: http://x/',
      'ICY-Description: D',
      'ice-public: 0',
      'icy-br:96',
    ),
    { name: 'A', genre: 'C', url: 'http://x/', description: 'D', public: false, bitrateKbps: 96 },
  );
  t.match(facts('ice-name:', 'icy-name: B', 'icy-pub: 1'), { name: 'B', public: true }, 'an empty one says nothing');
});

t.test('texts that are not UTF-8 are in the charset of the source', async (t) => {
  const line = (name: string, hex: string) => Buffer.concat([Buffer.from(`${name}: `), Buffer.from(hex, 'hex')]);
  const moscow = [line('ice-name', 'cae8edee'), line('icy-genre', 'cfeeef'), 'Ice-Description: \u041e\u043f'];
  t.match(factsIn('windows-1251', ...moscow), { name: 'Кино', genre: 'Поп', description: 'Оп' });
  t.match(factsIn(undefined, ...moscow), { name: 'Êèíî', genre: 'Ïîï', description: 'Оп' });
  t.match(factsIn('shift_jis', line('icy-name', '83658358')), { name: 'テス' }, 'a byte of a letter may be ASCII');
  t.match(factsIn('koi8-r', line('ice-name', 'ebc9'), 'ice-name: last'), { name: 'last' }, 'of two the last counts');
  t.match(factsIn('koi8-r', 'ice-name: first', line('ice-name', 'ebc9')), { name: 'Ки' });
  t.match(factsIn('koi8-r', line('ice-name', 'c1'.repeat(17))), { name: 'а'.repeat(8) }, 'bounded');
});

t.test('bitrates: by their own head, else out of the audio info; nonsense is none', async (t) => {
  const cases: [string, number][] = [
    ['ice-bitrate: 128', 128],
    ['icy-br: 128,128', 128],
    ['ice-bitrate: Quality 5', 0],
    ['ice-bitrate: -1', 0],
    ['ice-bitrate: 10000', 10_000],
    ['ice-bitrate: 10001', 0],
    ['ice-audio-info: br=96', 0],
    ['ice-audio-info: bitrate=96', 96],
    ['ice-bitrate: 1e9', 0],
    ['ice-bitrate: 0x60', 0],
    ['icy-br: 128 kb/s', 128],
    ['ice-audio-info: bitrate=1e9', 0],
    ['ice-audio-info: br=1;bitrate=96;x=2', 96],
  ];
  for (const [line, kbps] of cases) t.equal(facts(line).bitrateKbps, kbps, line);
  t.match(facts('ice-bitrate: 64', 'ice-audio-info: bitrate=96'), { bitrateKbps: 64, audioInfo: 'bitrate=96' });
});

t.test('audio info: with the names of BUTT and those of libshout, its percent-encoding read', async (t) => {
  const info = (value: string) =>
    readFacts({ headers: new Map([['ice-audio-info', value]]) }, { textBytes: 256, urlBytes: 32 });
  t.match(info('ice-bitrate=128;ice-channels=2;ice-samplerate=44100'), {
    bitrateKbps: 128,
    channels: 2,
    sampleRate: 44_100,
    audioInfo: 'ice-bitrate=128;ice-channels=2;ice-samplerate=44100',
  });
  t.match(info('Bitrate=96; Channels=1 ;samplerate=22050'), { bitrateKbps: 96, channels: 1, sampleRate: 22_050 });
  t.match(info('samplerate=44100;quality=3%2e00;channels=2'), {
    channels: 2,
    sampleRate: 44_100,
    audioInfo: 'samplerate=44100;quality=3.00;channels=2',
  });
  t.equal(info('x=100%;y=%zz;z=%C3%A4%e4').audioInfo, 'x=100%;y=%zz;z=Ã¤ä', 'one run, one charset');
  t.equal(info('x=%c3%a4').audioInfo, 'x=ä');
  t.equal(info('a=1%0d%0aX-Evil:%201%00').audioInfo, 'a=1 X-Evil: 1', 'it ends in a head');
  t.match(info('samplerate=768001;channels=256;bitrate=ice-1'), { bitrateKbps: 0, channels: 0, sampleRate: 0 });
  t.match(info('samplerate=768000;channels=255'), { channels: 255, sampleRate: 768_000 });
});

t.test('text: UTF-8 where it is, else Windows-1252; no controls; cut at a character, at the limit', async (t) => {
  t.equal(facts(Buffer.from('ice-name: Zo\xeb \x80', 'latin1')).name, 'Zoë €');
  t.equal(facts('ice-name: Zoë').name, 'Zoë');
  // Heads of HTTP that hold them are refused whole (net/front/request-head.ts); SHOUTcast's are not.
  const parser = new RequestHeadParser(HEAD_LIMITS, { method: 'SOURCE', path: '/', query: '', protocol: 'ICY' });
  const head = parser.push(Buffer.from('icy-name: a\x00b\rX-Evil: 1\x7f\n\n', 'latin1')) as RequestHead;
  t.equal(readFacts(head, LIMITS).name, 'a b X-Evil: 1');
  t.notMatch(
    readFacts({ headers: new Map([['ice-name', 'a\r\nb\u0085\u2028c\ud800']]) }, LIMITS).name,
    /[\r\n\u0085\ud800]/,
  );
  t.equal(facts(`ice-name: ${'x'.repeat(16)}`).name.length, 16);
  t.equal(facts(`ice-name: ${'x'.repeat(17)}`).name.length, 16);
  t.equal(facts(`ice-name: ${'x'.repeat(15)}ë`).name, 'x'.repeat(15));
  t.equal(facts(`ice-name: ${'x'.repeat(13)}😀!`).name, 'x'.repeat(13));
});

t.test('a URL is one of the web, of at most so many bytes, or none', async (t) => {
  const long = `http://x/${'y'.repeat(23)}`;
  for (const good of ['http://x', 'HTTPS://x/?a=b#c', long]) t.equal(facts(`icy-url: ${good}`).url, good);
  for (const bad of ['www.x.com', 'javascript:alert(1)', 'http://x/ y', 'http://x/"', `${long}y`]) {
    t.equal(facts(`icy-url: ${bad}`).url, '', bad);
  }
});
