/** The head of a listener's answer: whose facts it says, and that nothing breaks out of a line. */

import t from 'tap';
import { audioInfoOf, type HeadFacts, mergeFacts, streamHead } from '../../../src/listener/cursor/stream-head.js';

const CONFIGURED: HeadFacts = {
  key: 'demo',
  name: '',
  genre: '',
  url: '',
  description: '',
  public: undefined,
  bitrateKbps: 0,
  audioInfo: '',
  sampleRate: 0,
  channels: 0,
  oggType: 'audio/ogg',
  server: 'airsplice',
  headers: {},
  info: [],
};
const AUDIO = { contentType: 'audio/mpeg', bitrateKbps: 128, sampleRate: 0, channels: 0 };

/** Its lines, by name as it is written. */
function linesOf(facts: Partial<HeadFacts>, metaint: number | null = null, more = {}): Map<string, string> {
  const text = streamHead({ ...CONFIGURED, ...facts }, AUDIO, metaint, more).toString();
  const [status, ...lines] = text.split('\r\n');
  if (status !== 'HTTP/1.0 200 OK' || !text.endsWith('\r\n\r\n')) throw new Error(text);
  const pairs = lines.slice(0, -2).map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
  const map = new Map(pairs);
  if (map.size !== pairs.length) throw new Error(`a header stands twice: ${text}`);
  return map;
}

t.test('facts: the configured one, else the source’s, else the key as the name', async (t) => {
  const facts = { name: 'N', genre: 'G', url: 'U', description: 'D', public: true, bitrateKbps: 64 };
  const source = { ...facts, audioInfo: 'ice-bitrate=64', sampleRate: 44_100, channels: 2 };
  t.match(mergeFacts(CONFIGURED, source), source);
  t.match(mergeFacts(CONFIGURED, undefined), { name: 'demo', genre: '', public: undefined, bitrateKbps: 0 });
  const own = { name: 'n', genre: 'g', url: 'u', description: 'd', public: false, bitrateKbps: 96 };
  const both = mergeFacts({ ...CONFIGURED, ...own }, source);
  t.match(both, own);
  t.equal(both.audioInfo, '', 'the source’s text has another bitrate');
});

t.test('what is not known is left out; a metaint stands only where it was asked for', async (t) => {
  const lines = linesOf({});
  for (const name of ['icy-name', 'icy-genre', 'icy-url', 'icy-description', 'icy-metaint']) t.notOk(lines.has(name));
  t.same([lines.get('icy-br'), lines.get('ice-audio-info'), lines.get('icy-pub')], ['128', 'bitrate=128', '0']);
  t.same(linesOf({ bitrateKbps: 96, public: true }, 16_000).get('icy-metaint'), '16000');
  t.same(linesOf({ bitrateKbps: 96 }).get('icy-br'), '96', 'the configured one');
  t.same(linesOf({ audioInfo: 'ice-channels=2' }).get('ice-audio-info'), 'ice-channels=2');
});

t.test('ice-audio-info: what the source says, and behind it what it leaves out and the frames show', async (t) => {
  const frames = { ...AUDIO, sampleRate: 48_000, channels: 1 };
  const info = (facts: Partial<HeadFacts>, audio = frames) => audioInfoOf({ ...CONFIGURED, ...facts }, audio);
  t.equal(info({}), 'bitrate=128;samplerate=48000;channels=1');
  t.equal(info({ bitrateKbps: 96, sampleRate: 44_100, channels: 2 }), 'bitrate=96;samplerate=44100;channels=2');
  t.equal(info({ audioInfo: 'Ice-Channels=2;quality=3' }), 'Ice-Channels=2;quality=3;samplerate=48000');
  t.equal(
    info({ audioInfo: 'ice-samplerate=1;ice-bitrate=2;channels=3' }),
    'ice-samplerate=1;ice-bitrate=2;channels=3',
  );
  t.equal(info({}, { ...AUDIO, bitrateKbps: 0 }), '');
});

t.test('a configured header takes the place of ours, however it is written', async (t) => {
  const lines = linesOf({ headers: { 'cache-control': 'private', 'ICY-NAME': 'x', 'X-More': 'y' }, name: 'N' });
  for (const name of ['Cache-Control', 'icy-name']) t.notOk(lines.has(name));
  t.same([lines.get('cache-control'), lines.get('ICY-NAME'), lines.get('X-More')], ['private', 'x', 'y']);
});

t.test('no text breaks out of its line', async (t) => {
  const lines = linesOf({ name: ' a\r\nSet-Cookie: b\u0000\u007f', headers: { 'X-More': 'c\nd' } });
  t.notOk(lines.has('Set-Cookie'));
  t.same([lines.get('icy-name'), lines.get('X-More')], ['a  Set-Cookie: b', 'c d']);
});

t.test('the type of Ogg: a source’s own where it sends Vorbis', async (t) => {
  const ogg = { ...AUDIO, contentType: 'audio/ogg' };
  const type = (declared: string, sends: string | null, audio = ogg) => {
    const source = { ...CONFIGURED, contentType: declared };
    return /Content-Type: (.*)\r/.exec(
      streamHead(mergeFacts(CONFIGURED, source, sends), audio, null, {}).toString(),
    )?.[1];
  };
  t.equal(type('application/ogg', 'vorbis'), 'application/ogg');
  t.equal(type('audio/ogg', 'vorbis'), 'audio/ogg');
  t.equal(type('video/ogg', 'vorbis'), 'audio/ogg');
  for (const codec of ['opus', 'flac', null]) t.equal(type('application/ogg', codec), 'audio/ogg', `${codec}`);
  t.equal(type('application/ogg', 'vorbis', AUDIO), 'audio/mpeg');
});
