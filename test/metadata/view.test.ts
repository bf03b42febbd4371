/** The channel record and the push answer, byte for byte. */

import t from 'tap';
import type { TrackRecord } from '../../src/metadata/record.js';
import { type ChannelFace, RecordView } from '../../src/metadata/view.js';

const RECORD: TrackRecord = {
  id: 'i"1',
  type: 'now',
  artist: 'Motörhead',
  song: 'Ace of "Spades"',
  separator: ' / ',
  durationSeconds: 168,
  etype: 1001,
  isrc: 'GB1',
  cover: '',
  album: 'Ace',
  timezone: 'Europe/London',
  images: '{"small":{"url":"s"},"large":{"url":"l"},"n":1.0}',
  extdata: '{"b":12345678901234567890,"a":1.0}',
  source: 'metapush',
  startSeconds: 1795178248,
  channel: 'one',
  version: 7,
  effectAtMs: 1795178249123,
};
const FACE: ChannelFace = { key: 'one', name: 'Radio "One"', station: 'st', timezone: 'Europe/Berlin' };

const view = (changes: Partial<TrackRecord> = {}, face: Partial<ChannelFace> = {}) =>
  new RecordView({ ...RECORD, ...changes }, { ...FACE, ...face });
const parsed = (changes: Partial<TrackRecord> = {}, face: Partial<ChannelFace> = {}) =>
  JSON.parse(view(changes, face).json) as Record<string, unknown>;

const jsonOf = (session: string, position: string, mount: string) =>
  '{"rawdata":"Motörhead / Ace of \\"Spades\\"","userplayout":false,"channel":"Radio \\"One\\"",' +
  `"session":"${session}","position":"${position}","marker":"","id":"i\\"1","mount":"${mount}","channelkey":"one",` +
  '"timestamp":"2026-11-20T12:37:28Z","artist":"Motörhead","song":"Ace of \\"Spades\\"","station":"st",' +
  '"start":"20.11.2026 13:37:28","duration":168,"start_timestamp":1795178248,"type":"now","etype":1001,"isrc":"GB1",' +
  '"asin":"","cover":"l","album":"Ace","images":{"small":{"url":"s"},"large":{"url":"l"},"n":1.0},' +
  '"extdata":{"b":12345678901234567890,"a":1.0},"source":"metapush","time":"2026-11-20T12:37:28Z","code":"one",' +
  '"timezone":"Europe/London","separator":" / "}';

t.test('the channel record: keys, order, types, formats', async (t) => {
  t.equal(view().json, jsonOf('', '', ''));
  const keys =
    'rawdata userplayout channel session position marker id mount channelkey timestamp artist song station start duration ' +
    'start_timestamp type etype isrc asin cover album images extdata source time code timezone separator';
  t.strictSame(Object.keys(parsed()), keys.split(' '));
  t.match(parsed({ images: null, extdata: null }), { images: null, extdata: null, cover: '' });
});

t.test('in listener scope', async (t) => {
  const one = view();
  t.equal(one.listenerJson('u-1', '12000', '/one\\"'), jsonOf('u-1', '12000', '/one\\\\\\"'));
  t.equal(one.listenerJson('', '', ''), one.json);
});

t.test('the push answer: 17 fields in the order of the specification', async (t) => {
  t.equal(
    view().pushAnswer(),
    '{"time":"2026-11-20T12:37:28Z","start":"20.11.2026 13:37:28","start_timestamp":1795178248,"duration":168,' +
      '"song":"Ace of \\"Spades\\"","artist":"Motörhead","code":"one","channelkey":"one","channel":"one",' +
      '"timezone":"Europe/London","id":"i\\"1","userplayout":false,"separator":" / ","etype":1001,"album":"Ace",' +
      '"type":"now","isrc":"GB1"}',
  );
});

t.test('title line, text, channel name, cover', async (t) => {
  t.equal(view().title, 'Motörhead / Ace of "Spades"');
  t.equal(view().text, 'Motörhead / Ace of "Spades"\n');
  t.equal(view({ artist: '' }).text, 'Ace of "Spades"\n');
  t.equal(view({ artist: '', song: '' }).text, '\n');
  t.equal(parsed({}, { name: '' })['channel'], 'one', 'the key where no name is configured');
  const images = (json: string, cover = '') => parsed({ images: json, cover })['cover'];
  t.equal(images('{"small":{"url":"s"},"medium":{"url":"m"},"large":{"url":"l"}}'), 'm');
  t.equal(images('{"small":{"url":"s"},"large":{"url":"l"}}'), 'l');
  t.equal(images('{"small":{"url":"s"}}'), 's');
  t.equal(images('{"medium":{"url":""},"small":{"url":"s"}}'), 's');
  t.equal(images('{}'), '');
  t.equal(images('{"medium":{"url":"m"}}', 'c'), 'c');
});

t.test('start is in the zone of the station', async (t) => {
  const at = (iso: string, timezone: string) => parsed({ startSeconds: Date.parse(iso) / 1000 }, { timezone })['start'];
  t.equal(at('2026-06-30T22:00:00Z', 'Europe/Berlin'), '01.07.2026 00:00:00', 'midnight is 00');
  t.equal(at('2026-03-29T00:59:59Z', 'Europe/Berlin'), '29.03.2026 01:59:59');
  t.equal(at('2026-03-29T01:00:00Z', 'Europe/Berlin'), '29.03.2026 03:00:00', 'summer time');
  t.equal(at('2026-12-31T18:30:00Z', 'Asia/Kolkata'), '01.01.2027 00:00:00');
  t.equal(at('2026-01-02T03:04:05Z', 'UTC'), '02.01.2026 03:04:05');
  t.equal(String(at('0000-01-01T00:00:00Z', 'UTC')).length, 19, 'the first moment that is let in');
  t.equal(at('9999-12-31T23:59:59Z', 'UTC'), '31.12.9999 23:59:59', 'the last');
  t.equal(parsed({ startSeconds: -62167219200 })['time'], '0000-01-01T00:00:00Z');
});

t.test('the etag is strong and follows the content', async (t) => {
  t.match(view().etag, /^"[\w-]{22}"$/);
  t.equal(view().etag, view().etag);
  t.not(view().etag, view({ song: 'x' }).etag, 'the same version with another title');
  t.not(view().etag, view({}, { name: 'x' }).etag);
});

t.test('rendered once', async (t) => {
  let reads = 0;
  const record = new Proxy(RECORD, {
    get(target, key) {
      reads++;
      return Reflect.get(target, key);
    },
  });
  const one = new RecordView(record, FACE);
  t.equal(reads, 0, 'nothing before it is asked for');
  const all = () => [one.json, one.text, one.title, one.etag, one.pushAnswer(), one.listenerJson('s', '1', '/m')];
  const first = all();
  reads = 0;
  t.strictSame(all(), first);
  t.equal(reads, 0);
});
