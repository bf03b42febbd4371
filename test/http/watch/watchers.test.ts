/** The look at all who watch: each in its turn, so that a crowd that came at once is not asked for signs of life at once. */

import t from 'tap';
import { Feed } from '../../../src/feed/feed.js';
import type { Direct, Transport } from '../../../src/http/watch/connection.js';
import { Watchers } from '../../../src/http/watch/watchers.js';
import { Sessions } from '../../../src/listener/sessions.js';
import { Proxies } from '../../../src/net/peer.js';
import { FakeClock } from '../../kit/clock.js';

const PING_MS = 25_000;
const TICK_MS = 40;
const NOBODY = { onBegan: () => undefined, onWritten: () => undefined, onHeard: () => undefined };

/** A connection that takes everything; it answers a PING at once, or never. */
class Peer implements Transport {
  readonly direct: Direct | null = null;
  readonly open = true;
  readonly waiting = 0;
  readonly taken = 0;
  readonly pingsMs: number[] = [];
  cutMs = 0;
  alive = true;
  readonly #clock: FakeClock;
  readonly #answers: boolean;

  constructor(clock: FakeClock, answers = true) {
    this.#clock = clock;
    this.#answers = answers;
  }

  send(): void {}

  ping(): void {
    this.pingsMs.push(this.#clock.now());
    this.alive = this.#answers;
  }

  close(): void {}

  cut(): void {
    this.cutMs ||= this.#clock.now();
  }
}

function crowd(size: number) {
  const clock = new FakeClock();
  const sessions = new Sessions(clock, NOBODY, { keepMs: 1000, max: 10 });
  const limits = {
    pingMs: PING_MS,
    bufferBytes: 65_536,
    drainMs: 30_000,
    watchers: size,
    watchersPerAddress: size,
    frames: 9,
    proxies: new Proxies([], 'x-forwarded-for'),
  };
  const watchers = new Watchers(new Feed(), sessions, clock, limits);
  const beganMs = clock.now();
  const seat = (peer: Peer) => watchers.enter(peer, '192.0.2.1');
  return { clock, watchers, beganMs, seat };
}

t.test('a crowd that comes at once is asked little by little, each every pingSeconds', async (t) => {
  const { clock, beganMs, seat } = crowd(5000);
  const peers = Array.from({ length: 5000 }, () => new Peer(clock));
  for (const peer of peers) seat(peer);
  clock.advance(3 * PING_MS);
  const perTick = new Map<number, number>();
  for (const { pingsMs } of peers) {
    for (const ms of pingsMs) perTick.set(ms, (perTick.get(ms) ?? 0) + 1);
  }
  const even = 5000 / (PING_MS / 2 / TICK_MS);
  const most = Math.max(...perTick.values());
  t.ok(most <= 2 * even, `at most ${most} on one tick, where ${even} would be even`);
  const firsts = peers.map(({ pingsMs }) => pingsMs[0]! - beganMs);
  t.ok(Math.min(...firsts) >= PING_MS / 2, 'nobody is asked soon after it came');
  t.ok(Math.max(...firsts) <= PING_MS + 1000 + TICK_MS, 'nor later than it would be alone');
  const gaps = peers.flatMap(({ pingsMs }) => pingsMs.slice(1).map((ms, i) => ms - pingsMs[i]!));
  t.same([...new Set(gaps)], [PING_MS]);
  t.ok(gaps.length >= 5000);
});

t.test('who has not answered by the next is cut then', async (t) => {
  const { clock, seat } = crowd(100);
  const peers = Array.from({ length: 100 }, () => new Peer(clock, false));
  for (const peer of peers) seat(peer);
  clock.advance(2 * PING_MS + 2000);
  t.same(
    new Set(peers.map(({ pingsMs, cutMs }) => `${pingsMs.length} ${cutMs - pingsMs[0]!}`)),
    new Set([`1 ${PING_MS}`]),
  );
});

t.test('after a pause of the process everybody is looked at once', async (t) => {
  const { clock, watchers, seat } = crowd(60);
  const peers = Array.from({ length: 60 }, () => new Peer(clock, false));
  for (const peer of peers) seat(peer);
  watchers.onAlarm(clock.now() + 10 * PING_MS);
  t.same(
    peers.map(({ pingsMs, cutMs }) => pingsMs.length + cutMs),
    peers.map(() => 1),
  );
});

t.test('who has gone is not looked at, and its place is free', async (t) => {
  const { clock, watchers, seat } = crowd(2);
  const [stays, goes] = [new Peer(clock), new Peer(clock)];
  seat(stays);
  const { onGone: gone } = seat(goes);
  t.throws(() => watchers.admit('192.0.2.1'));
  gone();
  gone();
  t.equal(watchers.count, 1);
  watchers.admit('192.0.2.1');
  clock.advance(2 * PING_MS);
  t.equal(goes.pingsMs.length, 0);
  t.ok(stays.pingsMs.length > 0);
  watchers.close();
  clock.advance(4000);
  t.ok(stays.cutMs > 0, 'who does not answer the goodbye is cut');
  t.equal(goes.cutMs, 0);
});
