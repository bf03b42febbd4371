/** Unique listeners, held against a model that looks at all connections anew; and the line in the access log, to the character. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Output } from '../../src/base/output.js';
import { SecretMask } from '../../src/base/secret-mask.js';
import { type CountedListener, type ListenerRequest, ListenerStats } from '../../src/listener/listener-stats.js';
import { FakeClock } from '../kit/clock.js';
import { Random } from '../kit/random.js';
import { tempFolder } from '../kit/temp-folder.js';

const TOGETHER_MS = 10_000;

interface Connection {
  readonly address?: string;
  readonly agent?: string;
  readonly metaid?: string;
  readonly playbackSession?: string;
}

function makeStats(clock: FakeClock, accessLog: Output | null = null, anonymize = false): ListenerStats {
  const secrets = new SecretMask(['metaid']);
  return new ListenerStats(clock, { togetherMs: TOGETHER_MS, accessLog, anonymize, textCharacters: 16, secrets });
}

/** A request as a player makes it. @param headers by lower-case name */
function makeRequest(
  fields: Partial<ListenerRequest> = {},
  headers: Readonly<Record<string, string | undefined>> = {},
): ListenerRequest {
  return { method: 'GET', url: '/demo.mp3', address: '192.0.2.7', header: (name) => headers[name], ...fields };
}

function connect(stats: ListenerStats, connection: Connection = {}, channel = 'demo'): CountedListener {
  const { address = '192.0.2.7', agent = 'Safari', metaid = null, playbackSession } = connection;
  const headers = { 'user-agent': agent, 'x-playback-session-id': playbackSession };
  return stats.join(channel, makeRequest({ address }, headers), metaid);
}

t.test('what makes two connections one listener', async (t) => {
  const cases: readonly (readonly [why: string, first: Connection, second: Connection, listeners: number])[] = [
    ['one metaid', { metaid: 'm' }, { metaid: 'm', address: '192.0.2.8', agent: 'x' }, 1],
    ['two metaids', { metaid: 'm' }, { metaid: 'n' }, 2],
    ['one playback session', { playbackSession: 'p' }, { playbackSession: 'p', address: '192.0.2.8' }, 1],
    ['two playback sessions', { playbackSession: 'p' }, { playbackSession: 'q' }, 2],
    ['a metaid is no playback session', { metaid: 'x' }, { playbackSession: 'x', address: '192.0.2.8' }, 2],
    ['one address and agent', {}, {}, 1],
    ['two agents', {}, { agent: 'VLC' }, 2],
    ['two addresses', {}, { address: '192.0.2.8' }, 2],
    ['a malformed playback session is ignored', { playbackSession: 'p'.repeat(129) }, { playbackSession: 'a b' }, 1],
  ];
  for (const [why, first, second, listeners] of cases) {
    const stats = makeStats(new FakeClock());
    const both = [connect(stats, first), connect(stats, second)];
    t.match(stats.counts('demo'), { listeners, connections: 2, peakListeners: listeners, peakConnections: 2 }, why);
    for (const counted of both) stats.leave(counted, 0, 0);
    t.match(stats.counts('demo'), { listeners: 0, connections: 0, peakListeners: listeners }, why);
    t.equal(stats.size, 0, why);
  }
});

t.test('an address and agent is one listener for so long after its first connection, an id for ever', async (t) => {
  const clock = new FakeClock();
  const stats = makeStats(clock);
  const first = connect(stats);
  const named = connect(stats, { metaid: 'm' });
  clock.advance(TOGETHER_MS);
  const atTheLimit = connect(stats);
  t.equal(stats.counts('demo').listeners, 2);
  clock.advance(1);
  const later = connect(stats);
  t.equal(stats.counts('demo').listeners, 3, 'one millisecond past it');
  stats.leave(connect(stats, { metaid: 'm' }), 0, 0);
  t.equal(stats.counts('demo').listeners, 3);
  for (const counted of [first, atTheLimit]) stats.leave(counted, 0, 0);
  t.equal(stats.counts('demo').listeners, 2, 'the older listener goes without the newer one');
  const joined = connect(stats);
  t.equal(stats.counts('demo').listeners, 2, 'which is still joined');
  for (const counted of [later, named, joined]) stats.leave(counted, 0, 0);
  t.equal(stats.size, 0);
});

t.test('channels are counted apart', async (t) => {
  const stats = makeStats(new FakeClock());
  connect(stats, { metaid: 'm' });
  connect(stats, { metaid: 'm' }, 'studio');
  t.equal(stats.counts('demo').listeners, 1);
  t.equal(stats.counts('studio').listeners, 1);
  t.equal(stats.counts('other').listeners, 0);
});

t.test('10,000 joins and leaves: always right, and nothing is left', async (t) => {
  const random = new Random();
  const clock = new FakeClock();
  const stats = makeStats(clock);
  const playing: CountedListener[] = [];
  let [joins, most, worst] = [0, 0, 0];
  while (joins < 10_000 || playing.length > 0) {
    clock.advance(random.int(0, 400));
    if (joins < 10_000 && random.chance(0.55)) {
      const [kind, who] = [random.int(0, 2), String(random.int(0, 40))];
      const ids = [{ metaid: who }, { playbackSession: who }, { address: who }];
      playing.push(connect(stats, ids[kind]!));
      joins++;
    } else if (playing.length > 0) stats.leave(playing.splice(random.int(0, playing.length - 1), 1)[0]!, 0, 0);
    const { listeners, connections } = stats.counts('demo');
    if (connections !== playing.length || listeners !== new Set(playing.map(({ unique }) => unique)).size) worst++;
    if (stats.size > listeners) worst++;
    most = Math.max(most, listeners);
  }
  t.equal(worst, 0, `seed ${random.seed}`);
  t.equal(stats.counts('demo').peakListeners, most);
  t.equal(stats.size, 0, 'none is kept');
  t.ok(most > 100);
});

t.test('the access line: time of the ending, bytes and seconds; texts cut at the limit', async (t) => {
  const file = join(tempFolder(t), 'access.log');
  const log = await Output.to(file, { bufferBytes: 10_000, onFailed: (error) => t.fail(String(error)) });
  const clock = new FakeClock();
  const whole = makeStats(clock, log);
  const short = makeStats(clock, log, true);
  const headers = { 'user-agent': '0123456789abcdef', referer: 'http://x.example' };
  const longer = { 'user-agent': '0123456789abcdefg', referer: 'http://x.example/' };
  const counted = [
    whole.join('demo', makeRequest({ url: '/demo?metaid=1&t=' }, headers), '1'),
    whole.join('demo', makeRequest({ url: '/demo?metaid=1&tu', address: '::ffff:192.0.2.9' }, longer), null),
    short.join('demo', makeRequest({ address: '2001:db8:1:2::3' }), null),
    short.join('demo', makeRequest({ address: '' }), null),
  ];
  clock.advance(90_000);
  for (const [i, each] of counted.entries()) (i < 2 ? whole : short).leave(each, 16_000 * i, 89_500 + i);
  await log.close();
  const time = '[20/Nov/2026:12:38:58 +0000]';
  t.same(readFileSync(file, 'latin1').split('\n'), [
    `192.0.2.7 - - ${time} "GET /demo?metaid=-&t HTTP/1.0" 200 0 "http://x.example" "0123456789abcdef" 90`,
    `192.0.2.9 - - ${time} "GET /demo?metaid=-&t HTTP/1.0" 200 16000 "http://x.example" "0123456789abcdef" 90`,
    `2001:db8:1:: - - ${time} "GET /demo.mp3 HTTP/1.0" 200 32000 "-" "-" 90`,
    `- - - ${time} "GET /demo.mp3 HTTP/1.0" 200 48000 "-" "-" 90`,
    '',
  ]);
  t.equal(whole.size + short.size, 0);
});

t.test('without an access log nothing of a request is kept', async (t) => {
  const stats = makeStats(new FakeClock());
  const counted = connect(stats);
  t.equal(counted.entry, null);
  stats.leave(counted, 1, 1);
  t.equal(stats.lostLines, 0);
});
