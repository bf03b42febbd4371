/** Private listeners of HLS by a clock that the test moves: how long they are there, where they are taken to hear, what their session says. */

import t from 'tap';
import { openLog } from '../../../src/base/log.js';
import { SecretMask } from '../../../src/base/secret-mask.js';
import type { HlsOptions } from '../../../src/config/hls-config.js';
import { HlsChannels } from '../../../src/hls/hls-channels.js';
import { Audience } from '../../../src/listener/cursor/audience.js';
import { HlsListeners } from '../../../src/listener/hls/hls-listeners.js';
import { ListenerStats } from '../../../src/listener/listener-stats.js';
import { HeardReports } from '../../../src/listener/sessions/heard-reports.js';
import { Sessions } from '../../../src/listener/sessions/sessions.js';
import { cutFeeds, HlsChannel, readPlaylist, tapeName } from '../../kit/hls-channel.js';
import { HLS_OPTIONS, noRewinds } from '../../kit/hls-link.js';

const OPTIONS: HlsOptions = { ...HLS_OPTIONS, segmentSeconds: 2, window: 8, keep: 12 };
const TARGET_MS = 2000;
const SILENT_MS = 3 * TARGET_MS + 5000;

function setUp() {
  const channel = new HlsChannel();
  const { clock, audio } = channel;
  const said: string[] = [];
  const sessions = new Sessions(
    clock,
    {
      onBegan: () => undefined,
      onWritten: (_, { view, positionMs }) => said.push(`written ${view.title} ${Math.round(positionMs)}`),
      onHeard: (_, { view }) => said.push(`heard ${view.title}`),
    },
    { keepMs: 60_000, max: 10 },
  );
  const audience = new Audience(clock, sessions);
  const secrets = new SecretMask([]);
  const stats = new ListenerStats(clock, {
    togetherMs: 0,
    accessLog: null,
    anonymize: false,
    textCharacters: 100,
    secrets,
  });
  const feeds = cutFeeds(clock, 60_000);
  const channels = new HlsChannels({ clock, feeds, silenceMs: 60_000, rewinds: noRewinds(clock), tapeName });
  const source = { audio, hls: OPTIONS };
  const { log } = openLog('silent', 0);
  const sharedMs = () => clock.now();
  const listeners = new HlsListeners({ clock, log, audience, sessions, stats, channels, players: null, sharedMs });
  channels.ask(source);
  const ends: number[] = [];
  const open = (metaid: string | null = 'm', limitMs = Number.POSITIVE_INFINITY, at = source) => {
    audience.enter(at.audio);
    const client = { mount: '/demo.mp3', address: '192.0.2.1', agent: '', referer: '' };
    const request = { method: 'GET', url: '/demo.mp3/hls.m3u8', address: '192.0.2.1', header: () => undefined };
    const onEnd = (lastedMs: number) => void ends.push(lastedMs);
    return listeners.open({ token: `token of ${metaid}`, source: at, client, metaid, request, limitMs, onEnd });
  };
  const reports = new HeardReports(sessions, clock, () => 1000);
  const report = (ms: number) =>
    reports.take('m', Buffer.from(JSON.stringify({ heardAt: new Date(ms).toISOString() })));
  const { window } = channels.of(source)!;
  /** It asks, and is sent the list. */
  const list = (listener: ReturnType<typeof open>) => {
    listeners.ask(listener, source);
    listeners.send(listener, source, 1000);
    return readPlaylist(window.playlist);
  };
  return {
    channel,
    clock,
    audio,
    audience,
    sessions,
    stats,
    listeners,
    source,
    open,
    list,
    report,
    said,
    ends,
    window,
  };
}

t.test('it is there as long as it asks, and has listened until it asked last', async (t) => {
  const { channel, clock, audio, audience, sessions, stats, listeners, open, list, ends } = setUp();
  channel.play(10);
  const listener = open();
  t.equal(listeners.find('token of m', { path: '/demo.mp3', audio }), listener);
  t.equal(listeners.find('token of m', { path: '/demo', audio }), undefined, 'at another mount');
  for (let i = 0; i < 5; i++) {
    list(listener);
    clock.advance(SILENT_MS);
    listeners.tidy(clock.now());
  }
  t.strictSame([listeners.count, audience.count, audio.listeners, stats.counts('demo').connections], [1, 1, 1, 1]);
  clock.advance(1);
  listeners.tidy(clock.now());
  t.strictSame([listeners.count, audience.count, audio.listeners, stats.counts('demo').connections], [0, 0, 0, 0]);
  t.strictSame(ends, [4 * SILENT_MS]);
  t.equal(listeners.find('token of m', { path: '/demo.mp3', audio }), undefined);
  t.equal(sessions.playing('m'), undefined);
  t.equal(audience.endingsOf('demo').left, 1);
  t.equal(audience.bytesByChannel().get('demo'), 5000);
  listener.end('operator');
  t.strictSame([audience.endings.operator, ends.length], [0, 1], 'once');
});

t.test(
  'the same token again, at a path that a reload has given to another channel: the former listener ends',
  async (t) => {
    const { channel, clock, audio, audience, sessions, listeners, source, open, list, ends } = setUp();
    const other = new HlsChannel({ key: 'other' }).audio;
    const path = '/demo.mp3';
    channel.play(10);
    const former = open();
    list(former);
    clock.advance(1000);
    const listener = open('m', Number.POSITIVE_INFINITY, { ...source, audio: other });
    t.strictSame([listeners.count, audience.count, audio.listeners, other.listeners], [1, 1, 0, 1]);
    t.strictSame([audience.endingsOf('demo').left, ends], [1, [0]], 'it has listened until it asked last');
    t.equal(sessions.playing('m')?.channel, 'other');
    former.end('operator');
    t.strictSame([audience.endings.operator, ends.length], [0, 1], 'once');
    t.equal(listeners.find('token of m', { path, audio: other }), listener);
    t.equal(listeners.find('token of m', { path, audio }), undefined);
  },
);

t.test('a limit of time, an operator, the end', async (t) => {
  const { channel, clock, audience, listeners, open, list, ends } = setUp();
  channel.play(5);
  const limited = open('limited', 3000);
  open('kicked').end('operator');
  open(null);
  clock.advance(2999);
  list(limited);
  listeners.tidy(clock.now());
  t.equal(listeners.count, 2);
  clock.advance(1);
  listeners.tidy(clock.now());
  t.equal(listeners.count, 1);
  listeners.endAll('removed', 'other');
  listeners.endAll('shutdown');
  t.match(audience.endings, { overtime: 1, operator: 1, shutdown: 1, left: 0, removed: 0 });
  t.strictSame([audience.count, ends], [0, [0, 3000, 3000]]);
});

t.test('until it reports it hears the end of the list less three target durations', async (t) => {
  const { channel, clock, open, list, report, said } = setUp();
  channel.title('A');
  channel.play(12);
  const listener = open();
  const first = list(listener);
  const endOf = ({ segments }: typeof first) => segments.at(-1)!.dateMs + segments.at(-1)!.seconds * 1000;
  const zeroMs = endOf(first) - 3 * TARGET_MS;
  t.strictSame(said, ['written A 0', 'heard A']);
  t.equal(listener.heardMark(clock.now())?.view.title, 'A');
  channel.title('B');
  channel.play(4);
  const second = list(listener);
  const bMs = second.titles.at(-1)!.startMs;
  t.equal(said.at(-1), `written B ${Math.round(bMs - zeroMs)}`);
  const dueMs = bMs - (endOf(second) - 3 * TARGET_MS);
  channel.play(Math.floor(dueMs / 100) / 10 - 0.2);
  t.notOk(said.includes('heard B'), 'not before');
  channel.play(0.5);
  t.equal(said.at(-1), 'heard B');
  t.match([listener.lastMark?.view.title, listener.heardMark(clock.now())?.view.title], ['B', 'B']);
  const lagMs = listener.heardLagMs(clock.now());
  t.ok(lagMs > 5500 && lagMs < 9000, `${lagMs} ms behind`);

  channel.title('C');
  channel.play(4);
  const third = list(listener);
  const cMs = third.titles.at(-1)!.startMs;
  t.equal(report(cMs + 5), 'taken');
  t.equal(said.at(-1), 'heard C', 'it is further than was thought');
  t.equal(report(endOf(third) + 10), 'impossible');
  channel.play(2);
  list(listener);
  const behindMs = clock.wallMs() - (cMs + 5 + 2000);
  t.ok(Math.abs(listener.heardLagMs(clock.now()) - behindMs) < 60, 'a report counts from then on, and no estimate');
});

t.test('where its list stood still it is taken to be as far behind its end as before', async (t) => {
  const { channel, clock, open, list } = setUp();
  channel.play(12);
  const listener = open();
  list(listener);
  for (let i = 0; i < 10; i++) {
    clock.advance(1000);
    list(listener);
  }
  channel.play(5);
  const { segments } = list(listener);
  const endMs = segments.at(-1)!.dateMs + segments.at(-1)!.seconds * 1000;
  const heardAtMs = clock.wallMs() - listener.heardLagMs(clock.now());
  t.ok(Math.abs(heardAtMs - (endMs - 3 * TARGET_MS)) < 2, `${heardAtMs - endMs} ms from the end`);
});

t.test('a correction is said with the next list, also of what is in force; another tape goes on', async (t) => {
  const { channel, audio, open, list, said } = setUp();
  channel.title('wrong', 0, { id: 'one', effectAtMs: 7 });
  channel.play(12);
  const listener = open();
  list(listener);
  channel.title('right', 0, { id: 'one', effectAtMs: 7 });
  channel.play(4);
  t.notOk(said.some((each) => each.includes('right')));
  list(listener);
  t.strictSame(said, ['written wrong 0', 'heard wrong', 'written right 0', 'heard right']);
  audio.release();
  channel.play(6, true);
  list(listener);
  t.equal(said.length, 4, 'what was said is not said again');
  channel.title('next');
  channel.play(5);
  list(listener);
  t.match(said.at(-1), /^written next \d+$/);
});

t.test('a list that begins: it hears its beginning', async (t) => {
  const { channel, clock, open, list, window } = setUp();
  channel.title('A');
  channel.play(3.4);
  const listener = open();
  const { segments } = list(listener);
  t.equal(segments.length, 1);
  t.equal(listener.joinMs, window.segmentsFrom(0)[0]!.startMs);
  t.equal(listener.heardMark(clock.now())?.view.title, 'A');
  const other = open(null);
  t.strictSame([other.joinMs, other.lastMark, other.move()], [-1, null, false], 'it was sent no list');
});
