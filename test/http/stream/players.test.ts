/** Whose tape is over: they go on with the other one of their channel where their head fits it. A link without a socket, real sockets to players, false clock. */

import t, { type Test } from 'tap';
import { Phase } from '../../../src/audio/tape/phase.js';
import { NOTHING } from '../../../src/audio/tape/segment.js';
import { Players } from '../../../src/http/stream/players.js';
import type { Stay } from '../../../src/http/stream/stay.js';
import { TapeNames } from '../../../src/link/tapes/tape-names.js';
import { Audience } from '../../../src/listener/cursor/audience.js';
import { ListenerStats } from '../../../src/listener/listener-stats.js';
import { Sessions } from '../../../src/listener/sessions/sessions.js';
import { framesIn } from '../../kit/feeder.js';
import { readBack } from '../../kit/icy.js';
import { FRAME_BYTES, FRAME_MS, LinkHarness, SETTLE_MS } from '../../kit/link-harness.js';
import { keepLines } from '../../kit/log-lines.js';
import { socketPair } from '../../kit/socket-pair.js';
import { until } from '../../kit/until.js';

const METAINT = 500;
const BURST_MS = 2000;
const START_TIMEOUT_MS = 3000;
const HEAD = Buffer.from('HTTP/1.0 200 OK\r\n\r\n');

/** Players of a worker's channel, and one of them who reads all. @param metaint that it was promised */
async function start(t: Test, metaint = METAINT) {
  const hub = new LinkHarness({ metaint: METAINT }).connect();
  const { clock, linked } = hub;
  hub.title();
  hub.enter().play(8000).settle();
  hub.leave();
  const quiet = { onBegan: () => undefined, onWritten: () => undefined, onHeard: () => undefined };
  const sessions = new Sessions(clock, quiet, { keepMs: 1000, max: 10 });
  const audience = new Audience(clock, sessions);
  const left: number[] = [];
  const onJoin = () => (lastedMs: number) => void left.push(lastedMs);
  const stats = new ListenerStats(clock, { togetherMs: 0, accessLog: null, onJoin } as never);
  const players = new Players(audience, sessions, stats, clock, {
    burstMs: BURST_MS,
    startTimeoutMs: START_TIMEOUT_MS,
    log: keepLines().log,
  });
  clock.everyTick(audience);
  clock.everyTick(players);
  const { client, socket } = await socketPair(t);
  const got: Buffer[] = [];
  let isEnded = false;
  client.on('data', (bytes) => got.push(bytes)).on('end', () => (isEnded = true));
  const ends: number[] = [];
  audience.enter(linked);
  const from = { mount: '/demo', address: '127.0.0.1', agent: 'test', referer: '' };
  const header = (name: string) => (name === 'x-playback-session-id' ? 'one' : undefined);
  const request = { method: 'GET', url: '/demo', address: '127.0.0.1', header };
  const stay = {
    audio: linked,
    home: { audio: linked, path: '/demo' },
    contentType: linked.contentType,
    metaint,
    phase: metaint === METAINT ? null : new Phase(metaint),
    admitted: { end: (lastedMs: number) => ends.push(lastedMs) },
    session: null,
    connection: 1,
    client: from,
    cut: NOTHING,
    counted: stats.join('demo', request, null),
    readAheadMs: 0,
    format: null,
    endMs: Number.POSITIVE_INFINITY,
    playbackSession: 'one',
  } as unknown as Stay;
  players.join(socket, HEAD, BURST_MS, stay);
  // The same player on a second connection.
  stats.join('demo', request, null);
  const sentBytes = () => [...audience.all()].reduce((sum, { bytes }) => sum + bytes, 0);
  /** All that was written has come. */
  const heard = async () => {
    await until(() => socket.writableLength === 0, 5000);
    const before = socket.bytesWritten;
    await until(() => Buffer.concat(got).length >= before, 5000);
    return readBack(Buffer.concat(got).subarray(HEAD.length), metaint);
  };
  return { hub, linked, clock, audience, stats, left, ends, heard, sentBytes, isEnded: () => isEnded };
}

/** Another hub has the channel. */
function another(hub: LinkHarness, next = hub): LinkHarness {
  hub.pipe.hub.destroy();
  next.names = new TapeNames();
  next.receiver = hub.receiver;
  return next.connect();
}

t.test('with another tape it goes on, frame by frame, block by block, at its place', async (t) => {
  const { hub, linked, clock, audience, stats, left, ends, heard, sentBytes, isEnded } = await start(t);
  const fromMs = clock.now();
  hub.play(3000).settle();
  clock.advance(1000);
  const before = (await heard()).audio.length;
  const one = linked.tape;
  another(hub).settle();
  t.not(linked.tape, one);
  t.ok(one!.isOver);
  clock.advance(1000);
  hub.title();
  hub.play(5000).settle();
  clock.advance(1000);
  const { audio, titles } = await heard();
  t.ok(audio.length > before + 20_000, 'it hears the other tape');
  t.equal(framesIn(audio).skippedBytes, 0, 'whole frames');
  t.same(titles.at(-1)!.title, 'T2');
  t.same([audience.count, linked.playing, linked.listeners, ends.length], [1, 1, 1, 0], 'one listener, one place');
  t.match(stats.counts('demo'), { listeners: 1, connections: 2 }, 'of one playback session, as before');
  t.ok(sentBytes() > 0);
  t.notOk(isEnded());
  t.same(left, [], 'and one connection: nothing of it has ended');
  audience.endAll('operator');
  const lastedMs = clock.now() - fromMs;
  t.same([left, ends], [[lastedMs], [lastedMs]], 'all of its time, for statistics and for the hook');
});

t.test('what it has ahead stays, however often its tape is lost', async (t) => {
  const { hub, clock, heard } = await start(t);
  const fromMs = clock.now();
  const seen: number[] = [];
  for (let i = 0; i < 6; i++) {
    hub.play(4000);
    // In all there is as much audio as time: none comes while things settle.
    for (let ms = 0; ms < 2 * SETTLE_MS; ms += FRAME_MS) hub.write();
    hub.settle();
    const { audio } = await heard();
    seen.push(Math.round((audio.length * FRAME_MS) / FRAME_BYTES - (clock.now() - fromMs)));
    another(hub).settle();
  }
  const [first, last] = [seen[0]!, seen.at(-1)!];
  t.ok(Math.abs(last - first) < 1500, `ahead: ${seen.join(', ')} ms`);
});

t.test('a tape without audio for a while: what it has is not the live edge, and is not played again', async (t) => {
  const { hub, clock, heard } = await start(t);
  hub.play(3000).settle();
  clock.advance(4000);
  const before = await heard();
  another(hub).settle();
  clock.advance(1000);
  const again = ((await heard()).audio.length - before.audio.length) / (FRAME_BYTES / FRAME_MS);
  t.ok(again < 500, `${again} ms of audio that was played`);
  hub.play(5000).settle();
  clock.advance(1000);
  const later = ((await heard()).audio.length - before.audio.length) / (FRAME_BYTES / FRAME_MS);
  t.ok(later > 4000, `it goes on: ${later} ms`);
});

t.test('other bytes between two blocks: it is ended, with a whole frame', async (t) => {
  const { hub, clock, audience, ends, heard, isEnded } = await start(t);
  const other = new LinkHarness({ metaint: METAINT + 1 });
  other.play(3000);
  another(hub, other);
  other.settle();
  clock.advance(1000);
  await until(isEnded, 5000);
  t.same([audience.count, ends.length], [0, 1]);
  t.equal(framesIn((await heard()).audio).skippedBytes, 0);
});

t.test('blocks of its own, further apart: it goes on with any tape, and ends with a whole frame', async (t) => {
  const { hub, clock, audience, ends, heard, isEnded } = await start(t, 8 * METAINT + 7);
  hub.play(3000).settle();
  clock.advance(1000);
  const before = (await heard()).audio.length;
  const other = new LinkHarness({ metaint: METAINT + 1 });
  other.play(3000);
  another(hub, other).settle();
  clock.advance(1000);
  other.title();
  other.play(5000).settle();
  clock.advance(1000);
  const { audio, titles } = await heard();
  t.ok(audio.length > before + 20_000, 'it hears the other tape');
  t.equal(framesIn(audio).skippedBytes, 0, 'whole frames');
  t.ok(titles.length > 1);
  t.same([audience.count, ends.length], [1, 0]);
  audience.endAll('operator');
  await until(isEnded, 5000);
  t.equal(framesIn((await heard()).audio).skippedBytes, 0);
});

t.test('no tape any more: it is ended', async (t) => {
  const { hub, clock, audience, isEnded } = await start(t);
  another(hub, new LinkHarness({ metaint: METAINT })).settle();
  clock.advance(1000);
  await until(isEnded, 5000);
  t.equal(audience.count, 0);
});

t.test('the other tape has nothing yet: it is waited for, and not for ever', async (t) => {
  for (const comes of [true, false]) {
    const { hub, linked, clock, audience, heard, isEnded } = await start(t);
    const other = new LinkHarness({ metaint: METAINT });
    // Less than a segment.
    other.play(52);
    another(hub, other).settle();
    t.same([linked.tape?.head, linked.hasSegments], [0, false]);
    clock.advance(START_TIMEOUT_MS - 200);
    t.equal(audience.count, 1, 'it waits');
    if (comes) {
      other.play(3000).settle();
      clock.advance(1000);
      t.equal(framesIn((await heard()).audio).skippedBytes, 0);
      t.equal(audience.count, 1);
      t.notOk(isEnded());
    } else {
      clock.advance(1200);
      await until(isEnded, 5000);
      t.equal(audience.count, 0);
      t.same([linked.playing, linked.listeners], [0, 0], 'and no place is left');
    }
  }
});
