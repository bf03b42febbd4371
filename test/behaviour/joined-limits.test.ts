/**
 * Limits and statistics of several processes, joined here without their sockets: at the limit and one past it wherever a client comes, and no more in
 * all than one process would allow, but for what happens before they hear of each other.
 */

import { Socket } from 'node:net';
import t from 'tap';
import { Tape } from '../../src/audio/tape/tape.js';
import { SecretMask } from '../../src/base/secret-mask.js';
import type { Tallies } from '../../src/base/tallies.js';
import { InFlight, weightOf } from '../../src/http/in-flight.js';
import { Listener } from '../../src/listener/cursor/listener.js';
import { type CountedListener, type ListenerRequest, ListenerStats } from '../../src/listener/listener-stats.js';
import { TypicalLag } from '../../src/listener/player/typical-lag.js';
import { Connections } from '../../src/net/front/connections.js';
import { Rate } from '../../src/net/limits/rate.js';
import { SecretGate } from '../../src/net/limits/secret-gate.js';
import type { FakeClock } from '../kit/clock.js';
import { JoinedProcesses } from '../kit/joined.js';
import { Random } from '../kit/random.js';

/** One of it in each of `count` processes. */
function eachOf<T>(
  count: number,
  make: (tallies: Tallies, clock: FakeClock) => T,
): { joined: JoinedProcesses; all: T[] } {
  const joined = new JoinedProcesses(count);
  return { joined, all: [...joined.all].map(({ tallies }) => make(tallies, joined.clock)) };
}

const open = (table: Connections, address: string) => {
  const socket = new Socket();
  return table.enter(socket, address) && table.begin(socket) ? socket : null;
};
const tables = (count: number, limits: { connections: number; perAddress: number; reserved: number }) =>
  eachOf(
    count,
    (tallies) => new Connections({ ...limits, tallies, isShared: () => false, onRefused: () => undefined }),
  );

const LOOKS_A_MINUTE = 240;

t.test('connections from one address: as many as may be, wherever they are', async (t) => {
  const { joined, all } = tables(3, { connections: 100, perAddress: 5, reserved: 10 });
  const sockets: Socket[] = [];
  for (let i = 0; i < 5; i++) {
    sockets.push(open(all[i % 3]!, '192.0.2.1')!);
    joined.exchange();
  }
  t.notOk(sockets.includes(null as never), 'at the limit');
  for (const table of all) t.equal(open(table, '192.0.2.1'), null, 'one past it');
  t.ok(open(all[0]!, '192.0.2.2'), 'another address has its own');
  sockets[1]!.destroy();
  await new Promise((resolve) => sockets[1]!.once('close', resolve));
  joined.exchange();
  t.ok(open(all[2]!, '192.0.2.1'), 'a place that was given back elsewhere');
});

t.test('connections in all, and what strangers have of them', async (t) => {
  const { joined, all } = tables(2, { connections: 12, perAddress: 100, reserved: 4 });
  for (let i = 0; i < 8; i++) {
    t.ok(open(all[i % 2]!, `192.0.2.${i}`), 'a stranger');
    joined.exchange();
  }
  for (const table of all) t.equal(open(table, '192.0.2.100'), null, 'the rest is for others');
  for (let i = 0; i < 4; i++) {
    const socket = new Socket();
    t.ok(all[i % 2]!.enter(socket, `198.51.100.${i}`));
    all[i % 2]!.admit(socket);
    joined.exchange();
  }
  for (const table of all) t.notOk(table.enter(new Socket(), '198.51.100.9'), 'there is no room');
  joined.end([...joined.all][0]!);
  joined.exchange();
  t.ok(open(all[1]!, '192.0.2.101'), 'what ended with its process is free');
});

t.test('bytes in flight, of an address and in all', async (t) => {
  const { joined, all } = eachOf(2, (tallies) => new InFlight({ bytes: 100, bytesPerAddress: 60 }, tallies));
  const body = (bytes: number) => ({ bytes }) as never;
  const response = { once: () => undefined } as never;
  t.ok(all[0]!.enter(body(20), weightOf(body(20)), 'a', response), 'weighs twice its bytes');
  joined.exchange();
  t.ok(all[1]!.fits(20, 'a'));
  t.notOk(all[1]!.fits(21, 'a'), 'one past what an address may have');
  t.ok(all[1]!.fits(60, 'b'));
  t.ok(all[1]!.enter(body(15), weightOf(body(15)), 'b', response));
  joined.exchange();
  t.ok(all[0]!.fits(30, 'c'));
  t.notOk(all[0]!.fits(31, 'c'), 'one past what all may have');
});

t.test('a rate: what is taken in one process is taken in all', async (t) => {
  const limits = { perMinute: 60, burst: 6, remembered: 10 };
  const { joined, all } = eachOf(3, (tallies, clock) => new Rate(clock, limits, tallies.notices('pushes')));
  for (let i = 0; i < 6; i++) {
    t.equal(all[i % 3]!.take('demo'), 0, 'at the limit');
    joined.exchange();
  }
  for (const rate of all) t.equal(rate.take('demo'), 1, 'one past it');
  t.equal(all[0]!.take('other'), 0);
  joined.pass(1000);
  t.equal(all[1]!.take('demo'), 0, 'what time brings');
  joined.exchange();
  t.ok(all[2]!.take('demo') > 0, 'it brings once');
  all[1]!.giveBack('demo');
  joined.exchange();
  t.equal(all[2]!.take('demo'), 0, 'what is given back in one is there in all');
});

t.test(
  'a rate, by seed: over minutes no more than one process would allow, and what fits into the delay',
  async (t) => {
    for (let story = 0; story < 10; story++) {
      const random = new Random();
      const limits = { perMinute: random.int(10, 600), burst: random.int(1, 50), remembered: 10 };
      const count = random.int(2, 5);
      const minutes = 3;
      const takenBy = (processes: number) => {
        const { joined, all } = eachOf(
          processes,
          (tallies, clock) => new Rate(clock, limits, tallies.notices('pushes')),
        );
        let taken = 0;
        for (let look = 0; look < minutes * LOOKS_A_MINUTE; look++) {
          // All at once, before any has heard of another.
          for (const rate of all) while (rate.take('demo') === 0) taken++;
          joined.pass(60_000 / LOOKS_A_MINUTE);
        }
        return taken;
      };
      const taken = takenBy(count);
      const one = limits.burst + minutes * limits.perMinute;
      const delayed = (count - 1) * (limits.burst + Math.ceil(limits.perMinute / LOOKS_A_MINUTE) + 1);
      const hint = `${taken} of ${one} and ${delayed}, SEED=${random.seed}`;
      t.ok(taken <= one + delayed, hint);
      // A bucket that is full between two looks loses what comes in: of one process, too.
      const alone = takenBy(1);
      t.ok(taken >= 0.9 * alone - count, `${hint}; one process: ${alone}`);
    }
  },
);

t.test('wrong secrets: a guesser who asks everywhere gets no more than at one place', async (t) => {
  const limits = { perMinute: 10, inAllPerMinute: 600, maxOfOrigin: 8, remembered: 100 };
  const { joined, all } = eachOf(4, (tallies, clock) => new SecretGate(clock, limits, () => 0.5, tallies));
  let looked = 0;
  const guess = (gate: SecretGate, onRight = false) =>
    gate.check(
      '192.0.2.1',
      () => {
        looked++;
        return onRight;
      },
      () => undefined,
    );
  for (let i = 0; i < 10; i++) {
    guess(all[i % 4]!);
    joined.exchange();
  }
  t.equal(looked, 10, 'at the limit');
  for (const gate of all) guess(gate);
  t.equal(looked, 10, 'past it each waits, in all of them');
  for (let ms = 0; ms < 60_000; ms += 250) {
    for (const gate of all) for (let i = 0; i < 4; i++) guess(gate);
    joined.pass(250);
  }
  // One a second, and what each process had begun before it knew of the others.
  t.ok(looked <= 10 + 60 + 2 * 4, `${looked} looked at`);
  t.ok(looked >= 40, `${looked} looked at`);
});

t.test('who was right in one process does not wait behind strangers in another', async (t) => {
  const limits = { perMinute: 1000, inAllPerMinute: 60, maxOfOrigin: 2, remembered: 100 };
  const { joined, all } = eachOf(2, (tallies, clock) => new SecretGate(clock, limits, () => 0.5, tallies));
  const verdicts: string[] = [];
  const ask = (gate: SecretGate, origin: string, isRight: boolean) =>
    gate.check(
      origin,
      () => isRight,
      (verdict) => verdicts.push(`${origin} ${verdict}`),
    );
  ask(all[0]!, 'playout', true);
  for (let i = 0; i < 60; i++) ask(all[0]!, `192.0.2.${i}`, false);
  joined.exchange();
  verdicts.length = 0;
  ask(all[1]!, 'stranger', true);
  ask(all[1]!, 'playout', true);
  t.same(verdicts, ['playout right']);
});

const TOGETHER_MS = 10_000;

function join(stats: ListenerStats, address: string, metaid: string | null = null): CountedListener {
  const header = (name: string) => (name === 'user-agent' ? 'VLC' : undefined);
  const request: ListenerRequest = { method: 'GET', url: '/demo.mp3', address, header };
  return stats.join('demo', request, metaid);
}

const statistics = (count: number) =>
  eachOf(count, (tallies, clock) => {
    const options = { togetherMs: TOGETHER_MS, accessLog: null, anonymize: false, textCharacters: 16 };
    return new ListenerStats(clock, { ...options, secrets: new SecretMask([]), tallies });
  });

t.test('who has connections to two processes is one listener', async (t) => {
  const { joined, all } = statistics(2);
  const [one, two] = all as [ListenerStats, ListenerStats];
  const first = join(one, '192.0.2.1', 'm');
  joined.exchange();
  const second = join(two, '192.0.2.9', 'm');
  joined.exchange();
  for (const stats of all)
    t.match(stats.counts('demo'), { listeners: 1, connections: 2, peakListeners: 1 }, 'a metaid');
  one.leave(first, 0, 0);
  joined.exchange();
  for (const stats of all) t.match(stats.counts('demo'), { listeners: 1, connections: 1 });
  two.leave(second, 0, 0);
  joined.exchange();
  for (const stats of all) t.match(stats.counts('demo'), { listeners: 0, connections: 0, peakConnections: 2 });

  // A player's probe and its real connection, before either process has heard of the other.
  const probe = join(one, '192.0.2.1');
  joined.clock.advance(120);
  const real = join(two, '192.0.2.1');
  joined.exchange(2);
  for (const stats of all) t.match(stats.counts('demo'), { listeners: 1, connections: 2 }, 'an address and an agent');
  joined.pass(TOGETHER_MS);
  join(two, '192.0.2.1');
  joined.exchange(2);
  for (const stats of all) t.match(stats.counts('demo'), { listeners: 2, connections: 3 }, 'somebody else behind it');
  one.leave(probe, 0, 0);
  two.leave(real, 0, 0);
  joined.exchange(2);
  for (const stats of all) t.match(stats.counts('demo'), { listeners: 1, connections: 1, peakListeners: 2 });
});

t.test('unique listeners by seed, spread over processes, against one process', async (t) => {
  for (let story = 0; story < 10; story++) {
    const random = new Random();
    const { joined, all } = statistics(3);
    const options = { togetherMs: TOGETHER_MS, accessLog: null, anonymize: false, textCharacters: 16 };
    const model = new ListenerStats(joined.clock, { ...options, secrets: new SecretMask([]) });
    const live: { stats: ListenerStats; counted: CountedListener; modelled: CountedListener }[] = [];
    for (let step = 0; step < 300; step++) {
      if (random.chance(0.55)) {
        const stats = all[random.int(0, 2)]!;
        const address = `192.0.2.${random.int(0, 5)}`;
        const metaid = random.chance(0.4) ? `m${random.int(0, 5)}` : null;
        live.push({ stats, counted: join(stats, address, metaid), modelled: join(model, address, metaid) });
      } else {
        const [gone] = live.splice(random.int(0, Math.max(0, live.length - 1)), 1);
        gone?.stats.leave(gone.counted, 0, 0);
        if (gone !== undefined) model.leave(gone.modelled, 0, 0);
      }
      joined.exchange(2);
      for (const stats of all) {
        const { listeners, connections } = stats.counts('demo');
        const right = model.counts('demo');
        const isSame = listeners === right.listeners && connections === right.connections;
        if (!isSame) throw new Error(`${listeners} of ${right.listeners} at step ${step}, SEED=${random.seed}`);
      }
      if (random.chance(0.3)) joined.pass(random.int(1, 8) * 1000 + 250);
    }
    for (const stats of all) t.equal(stats.counts('demo').peakListeners, model.counts('demo').peakListeners);
  }
});

t.test('the typical lag is the median of the listeners of all processes', async (t) => {
  const METAINT = 4000;
  const sink = { writableLength: 0, cork: () => {}, uncork: () => {}, write: () => true } as unknown as Socket;
  const { joined, all } = eachOf(2, (tallies, clock) => {
    const listeners: Listener[] = [];
    return { listeners, lag: new TypicalLag(clock, [listeners], tallies) };
  });
  const [one, two] = all as [(typeof all)[0], (typeof all)[0]];
  const { clock } = joined;
  const tape = new Tape(METAINT, 4, 60_000, null);
  const pass = (seconds: number) => {
    for (let i = 0; i < seconds * 10; i++) {
      clock.advance(100);
      tape.write(Buffer.alloc(METAINT * 0.4, 1), 100);
      for (const { listeners } of all) for (const listener of listeners) listener.advance(clock.now());
    }
    joined.exchange(2);
  };
  const listen = ({ listeners }: (typeof all)[0], burstSeconds: number) => {
    const listener = new Listener(sink, tape, {
      channel: 'demo',
      cursor: tape.joinAt(burstSeconds * 1000),
      icy: true,
      session: null,
      nowMs: clock.now(),
    });
    listeners.push(listener);
    listener.start(Buffer.alloc(0), clock.now());
  };
  pass(20);
  t.same(
    all.map(({ lag }) => lag.typicalLagMs('demo')),
    [null, null],
    'nobody plays',
  );
  listen(one, 2);
  pass(2);
  const [ofOne, ofTwo] = all.map(({ lag }) => lag.typicalLagMs('demo')!);
  t.ok(ofOne! > 0);
  t.ok(Math.abs(ofTwo! - ofOne!) <= 100, `${ofTwo} where nobody plays here`);
  for (let i = 0; i < 3; i++) listen(two, 16);
  pass(2);
  for (const { lag } of all) t.ok(lag.typicalLagMs('demo')! > ofOne! + 8000, `${lag.typicalLagMs('demo')} of most`);
  for (let i = 0; i < 5; i++) listen(one, 2);
  pass(2);
  for (const { lag } of all) t.ok(lag.typicalLagMs('demo')! < ofOne! + 2000, `${lag.typicalLagMs('demo')} of most`);
});
