/** The look at all watchers: each in its turn, so that a crowd that came at once is not asked for signs of life at once; slow ones; listeners' scope. */

import t from 'tap';
import { Feed, type Message } from '../../../src/feed/feed.js';
import type { Direct, Transport } from '../../../src/http/watch/watch-connection.js';
import { Watchers } from '../../../src/http/watch/watchers.js';
import { ListenerFeed } from '../../../src/listener/sessions/listener-feed.js';
import { Sessions } from '../../../src/listener/sessions/sessions.js';
import { Proxies } from '../../../src/net/front/client-address.js';
import { FakeClock } from '../../kit/clock.js';
import { viewOf } from '../../kit/record.js';

const PING_MS = 25_000;
const TICK_MS = 40;
const DRAIN_MS = 30_000;

/** A connection that takes everything; it answers a PING at once, or never. */
class Peer implements Transport {
  readonly direct: Direct | null = null;
  readonly open = true;
  waiting = 0;
  taken = 0;
  received = 0;
  readonly maxReceived = 1000;
  readonly sent: Message[] = [];
  readonly endings: string[] = [];
  readonly pingsMs: number[] = [];
  cutMs = 0;
  alive = true;
  readonly #clock: FakeClock;
  readonly #answers: boolean;

  constructor(clock: FakeClock, answers = true) {
    this.#clock = clock;
    this.#answers = answers;
  }

  send(message: Message): void {
    this.sent.push(message);
  }

  ping(): void {
    this.pingsMs.push(this.#clock.now());
    this.alive = this.#answers;
  }

  close(ending: string): void {
    this.endings.push(ending);
  }

  cut(): void {
    this.cutMs ||= this.#clock.now();
  }
}

function crowd(size: number) {
  const clock = new FakeClock();
  const feed = new Feed();
  const listenerFeed = new ListenerFeed(feed);
  const sessions = new Sessions(clock, listenerFeed, { keepMs: 1000, max: 10 });
  const limits = {
    pingMs: PING_MS,
    bufferBytes: 65_536,
    drainMs: DRAIN_MS,
    watchers: size,
    watchersPerAddress: size,
    frames: 9,
    proxies: new Proxies([], 'x-forwarded-for'),
    onError: () => undefined,
  };
  const watchers = new Watchers(feed, sessions, clock, limits);
  const beganMs = clock.now();
  const enter = (peer: Peer) => watchers.enter(peer, '192.0.2.1');
  return { clock, feed, listenerFeed, sessions, watchers, beganMs, enter };
}

t.test('a crowd that comes at once is asked little by little, each every pingSeconds', async (t) => {
  const { clock, beganMs, enter } = crowd(5000);
  const peers = Array.from({ length: 5000 }, () => new Peer(clock));
  for (const peer of peers) enter(peer);
  clock.advance(3 * PING_MS);
  const perTick = new Map<number, number>();
  for (const { pingsMs } of peers) {
    for (const ms of pingsMs) perTick.set(ms, (perTick.get(ms) ?? 0) + 1);
  }
  const even = 5000 / (PING_MS / 2 / TICK_MS);
  const most = Math.max(...perTick.values());
  t.ok(most <= 2 * even, `at most ${most} on one tick, where ${even} would be even`);
  const firsts = peers.map(({ pingsMs }) => pingsMs[0]! - beganMs);
  t.ok(Math.min(...firsts) >= PING_MS / 2, 'none is asked soon after it came');
  t.ok(Math.max(...firsts) <= PING_MS + 1000 + TICK_MS, 'nor later than it would be alone');
  const gaps = peers.flatMap(({ pingsMs }) => pingsMs.slice(1).map((ms, i) => ms - pingsMs[i]!));
  t.same([...new Set(gaps)], [PING_MS]);
  t.ok(gaps.length >= 5000);
});

t.test('who has not answered by the next is cut then', async (t) => {
  const { clock, enter } = crowd(100);
  const peers = Array.from({ length: 100 }, () => new Peer(clock, false));
  for (const peer of peers) enter(peer);
  clock.advance(2 * PING_MS + 2000);
  t.same(
    new Set(peers.map(({ pingsMs, cutMs }) => `${pingsMs.length} ${cutMs - pingsMs[0]!}`)),
    new Set([`1 ${PING_MS}`]),
  );
});

t.test('after a pause of the process each is looked at once', async (t) => {
  const { clock, watchers, enter } = crowd(60);
  const peers = Array.from({ length: 60 }, () => new Peer(clock, false));
  for (const peer of peers) enter(peer);
  watchers.onAlarm(clock.now() + 10 * PING_MS);
  t.same(
    peers.map(({ pingsMs, cutMs }) => pingsMs.length + cutMs),
    peers.map(() => 1),
  );
});

t.test('who has gone is not looked at, and its place is free', async (t) => {
  const { clock, watchers, enter } = crowd(2);
  const [stays, goes] = [new Peer(clock), new Peer(clock)];
  enter(stays);
  const { onGone: gone } = enter(goes);
  t.throws(() => watchers.checkRoom('192.0.2.1'));
  gone();
  gone();
  t.equal(watchers.count, 1);
  watchers.checkRoom('192.0.2.1');
  clock.advance(2 * PING_MS);
  t.equal(goes.pingsMs.length, 0);
  t.ok(stays.pingsMs.length > 0);
  watchers.close();
  clock.advance(4000);
  t.ok(stays.cutMs > 0, 'one that does not answer the close is cut');
  t.equal(goes.cutMs, 0);
});

t.test(
  'a slow watcher that makes progress stays, however long it is behind; a stuck one goes after drainSeconds',
  async (t) => {
    const { clock, enter } = crowd(3);
    const [slow, stuck, late] = [new Peer(clock), new Peer(clock), new Peer(clock)];
    for (const peer of [slow, stuck, late]) {
      peer.waiting = 50_000;
      enter(peer);
    }
    for (let ms = 0; ms < 5 * DRAIN_MS; ms += 10_000) {
      clock.advance(10_000);
      slow.taken += 100;
      if (ms < DRAIN_MS) late.taken += 100;
      if (ms + 10_000 === DRAIN_MS - 10_000) t.same(stuck.endings, [], 'not a moment too soon');
    }
    t.same(slow.endings, [], 'a little each time is progress');
    t.equal(slow.cutMs, 0);
    t.same(stuck.endings, ['too slow']);
    t.same(late.endings, ['too slow'], 'progress long ago is none');
  },
);

t.test('of several connections with one metaid only the newest has its next followed', async (t) => {
  const { feed, listenerFeed, sessions, watchers } = crowd(9);
  const face = { name: '', station: 'house', timezone: 'UTC' };
  feed.change(new Map([['house', ['one', 'two'].map((key) => ({ ...face, key }))]]));
  const push = (channel: string, title: string) => {
    const view = viewOf(title, { channel, type: 'next' });
    feed.set(channel, 'next', view);
    listenerFeed.next(view, sessions);
  };
  const watch = (): (() => string[]) => {
    const peer = new Peer(new FakeClock());
    watchers.open(peer, '192.0.2.1', { target: { scope: 'listener', id: 'm' }, sync: 'audio' });
    return () => peer.sent.map(({ json }) => JSON.parse(json).rawdata);
  };
  sessions.open({ metaid: 'm', channel: 'one', mount: '/one' });
  const early = watch();
  push('one', 'A');
  t.same(early(), ['A']);
  const newer = sessions.open({ metaid: 'm', channel: 'two', mount: '/two' });
  push('one', 'B');
  t.same(early(), ['A'], 'the older connection is not followed');
  t.same(watch()(), [], 'nor what it has coming sent first');
  push('two', 'C');
  t.same(early(), ['A', 'C']);
  t.same(watch()(), ['C']);
  sessions.close(newer);
  t.same(early(), ['A', 'C', 'B'], 'once it is the session again, it is');
});
