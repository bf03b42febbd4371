import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import v8 from 'node:v8';
import vm from 'node:vm';
import t from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { type Log, openLog } from '../../src/base/log.js';
import { measured } from '../../src/base/watchdog.js';
import { EncoderSource } from '../../src/source/encoder-source.js';
import { FakeClock } from '../kit/clock.js';
import { block, pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { Random } from '../kit/random.js';
import { demoYaml, startServer } from '../kit/server.js';
import { socketPair } from '../kit/socket-pair.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { audioOf, setUp, streamHead, Tap, Upstream } from '../kit/upstream.js';

/** Most fall between two turns. */
const MAX_STOPS = 5;

t.test('of several long turns the longest is reported, once, with its cause', async (t) => {
  const { watchdog: dog } = new FakeClock();
  dog.longMs = 10;
  t.notOk(dog.took('http', 9.9), 'one short of the limit');
  t.equal(dog.take(), null);
  t.ok(dog.took('encoder', 10), 'at the limit');
  dog.blame('studio');
  t.notOk(dog.took('poll', 9));
  t.ok(dog.took('upstream', 40));
  dog.blame('relay');
  t.notOk(dog.took('http', 39), 'long, but not the longest');
  t.same(dog.take(), { part: 'upstream', who: 'relay', tookMs: 40 });
  t.equal(dog.take(), null);
  t.match(dog.long, { encoder: 1, upstream: 1, http: 1, poll: 0 });
  t.match(dog.longestMs, { encoder: 10, upstream: 40, http: 39, poll: 9 });
});

t.test('work without a name leaves no name behind', async (t) => {
  const { watchdog: dog } = new FakeClock();
  dog.took('http', 200);
  dog.blame('192.0.2.1');
  dog.took('poll', 300);
  t.same(dog.take(), { part: 'poll', who: '', tookMs: 300 });
});

t.test('a late loop that no long turn explains has a cause that the next tick knows', async (t) => {
  const { watchdog: dog } = new FakeClock();
  const late = (lateMs: number, ranMs = lateMs) => {
    dog.late(lateMs, ranMs);
    dog.late(0);
  };
  late(99);
  t.equal(dog.take(), null);
  dog.took('encoder', 150);
  late(160);
  t.match(dog.take(), { part: 'encoder' });
  dog.took('encoder', 101);
  late(500);
  t.same(dog.take(), { part: 'unknown', who: '', tookMs: 500 });
  late(500, 249);
  t.same(dog.take(), { part: 'stopped', who: '', tookMs: 500 }, 'it had less than half of the time');
  late(500, 250);
  t.match(dog.take(), { part: 'unknown' });
  dog.took('http', 400);
  late(500, 1);
  t.match(dog.take(), { part: 'http' }, 'a disk that holds a request is its own cause');
  t.match(dog.long, { encoder: 2, unknown: 2, stopped: 1, http: 1, gc: 0 });
});

t.test('the collector is the cause where it took half of the time, however late that is known', async (t) => {
  const { watchdog: dog } = new FakeClock();
  dog.collected(250);
  dog.late(500);
  dog.late(0);
  t.same(dog.take(), { part: 'gc', who: '', tookMs: 500 }, 'known before');
  dog.late(500);
  t.equal(dog.take(), null);
  dog.collected(100);
  dog.collected(150);
  dog.late(0);
  t.match(dog.take(), { part: 'gc', tookMs: 500 }, 'known after');
  dog.collected(300);
  dog.late(0);
  dog.late(500);
  dog.collected(249);
  dog.late(0);
  t.match(dog.take(), { part: 'unknown' }, 'what it took before does not count');
  dog.late(300);
  dog.late(200);
  dog.late(0);
  t.match(dog.take(), { part: 'unknown', tookMs: 300 });
  t.match(dog.long, { gc: 2, unknown: 3 }, 'one late tick behind another');
});

t.test('work within other work is booked once, as what it is, and the other with the rest only', async (t) => {
  const clock = new FakeClock();
  const dog = clock.watchdog;
  dog.longMs = 20;
  const outerMs = dog.begin();
  const innerMs = dog.begin();
  const innermostMs = dog.begin();
  clock.spend(5);
  t.notOk(dog.end('change', innermostMs));
  clock.spend(30);
  t.ok(dog.end('encoder', innerMs));
  dog.blame('studio');
  clock.spend(2);
  t.notOk(dog.end('timer', outerMs));
  t.same(dog.take(), { part: 'encoder', who: 'studio', tookMs: 30 });
  t.match(dog.longestMs, { change: 5, encoder: 30, timer: 2 });
  t.match(dog.long, { change: 0, encoder: 1, timer: 0 });

  const nextMs = dog.begin();
  clock.spend(21);
  t.ok(dog.end('timer', nextMs), 'and the next one has all of its own time');
  t.equal(dog.longestMs.timer, 21);
});

t.test('a long turn that was taken before the loop was measured is not reported again as unknown', async (t) => {
  const { watchdog: dog } = new FakeClock();
  dog.took('encoder', 150);
  t.match(dog.take(), { part: 'encoder' });
  dog.late(130);
  dog.late(0);
  t.equal(dog.take(), null);
  t.equal(dog.long.unknown, 0);
  dog.late(130);
  dog.late(0);
  t.match(dog.take(), { part: 'unknown' }, 'it explains one late look, not the next');
});

t.test('who is held back is named by its channel when the clock goes on with it: an upstream', async (t) => {
  const clock = new FakeClock();
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) =>
    void socket.write(Buffer.concat([Buffer.from(streamHead()), audioOf(new Random(), 100)]));
  const { tap, source } = setUp(t, upstream, { channel: 'live', aheadMs: 500, allowPrivate: true }, clock);
  source.start();
  await until(() => tap.audioMs > 500, 5000);
  tap.onFrame = () => {
    clock.spend(120);
    return 0;
  };
  clock.advance(40);
  t.match(clock.watchdog.take(), { part: 'upstream', who: 'live' });
  t.equal(clock.watchdog.long.timer, 0, 'and nothing else beside it');
});

t.test('who is held back is named by its channel when the clock goes on with it: an encoder', async (t) => {
  const clock = new FakeClock();
  const { socket } = await socketPair(t);
  const tap = new Tap();
  const encoder = new EncoderSource(tap, clock, {
    channel: 'live',
    bodyTimeoutMs: 30_000,
    aheadMs: 500,
    takeover: 'silent',
    silentMs: 1000,
    framelessBytes: 65_536,
    facts: { textBytes: 100, urlBytes: 100 },
    onEvent: () => undefined,
  });
  encoder.start();
  encoder.attach(socket, audioOf(new Random(), 100), { headers: new Map([['content-type', 'audio/mpeg']]) });
  await until(() => tap.audioMs > 500, 5000);
  tap.onFrame = () => {
    clock.spend(120);
    return 0;
  };
  clock.advance(40);
  encoder.stop();
  t.match(clock.watchdog.take(), { part: 'encoder', who: 'live' });
  t.equal(clock.watchdog.long.timer, 0, 'and nothing else beside it');
});

t.test('the system clock times what it rings, and sees what it does not', async (t) => {
  const clock = new SystemClock();
  t.teardown(() => clock.stop());
  class Sluggard {
    onAlarm(): void {
      block(120);
    }
  }
  clock.alarm(clock.now(), new Sluggard());
  await until(() => clock.watchdog.long.timer > 0, 5000);
  const turn = clock.watchdog.take()!;
  t.match(turn, { part: 'timer', who: 'Sluggard' });
  t.ok(turn.tookMs >= 119);
  const { long } = clock.watchdog;
  long.unknown = long.stopped = 0;
  // Nothing else is due: the clock rests until this.
  clock.alarm(clock.now() + 40, { onAlarm: () => undefined });
  block(250);
  // It waits at no CPU, as for a disk; but the process may do something else.
  await until(() => long.unknown + long.stopped > 0, 5000);
  t.match(clock.watchdog.take(), { part: long.stopped > 0 ? 'stopped' : 'unknown', who: '' });
});

t.test('work that comes by no way of its own has a name', async (t) => {
  t.equal(
    measured('reload', () => 7),
    7,
  );
  const clock = new SystemClock();
  t.teardown(() => clock.stop());
  const { watchdog: dog } = clock;
  measured('history', () => block(120), 'demo');
  t.match(dog.take(), { part: 'history', who: 'demo' });
  const outer = dog.begin();
  const fails = () => {
    block(110);
    throw new Error('as it may');
  };
  t.throws(() => measured('statistics', fails), /as it may/);
  dog.end('http', outer);
  t.match(dog.take(), { part: 'statistics', who: '' }, 'also where it fails');
  t.equal(dog.long.http, 0);
  t.ok(dog.longestMs.http < 50, 'and nothing is booked twice');
});

t.test('the collector by itself', async (t) => {
  const clock = new SystemClock();
  t.teardown(() => clock.stop());
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc') as () => void;
  clock.everyTick({ onAlarm: () => undefined });
  let all: object[] = Array.from({ length: 2_000_000 }, (_, i) => ({ i, of: [i] }));
  clock.watchdog.longMs = 30;
  await until(
    () => {
      collect();
      return clock.watchdog.long.gc > 0;
    },
    20_000,
    () => JSON.stringify(clock.watchdog.long),
  );
  all = [];
  t.equal(all.length, 0);
});

t.test('a process that was stopped says so, and not as a warning, unless players have run dry', async (t) => {
  const folder = tempFolder(t);
  const config = join(folder, 'config.yaml');
  const port = await freePort();
  writeFileSync(
    config,
    demoYaml(`data: { folder: '${folder}/data' }\nlog: { format: json }\nstreams: { burstSeconds: 3 }`, port),
  );
  const server = new ServerProcess(t, port, [config], {});
  await server.plays();
  // Without a client the clock rests until the next alarm: how much of that time it was stopped for nobody knows.
  const player = new Player(port, '/studio');
  await player.until(() => player.audioBytes > 0);
  const lines = () =>
    server.err
      .split('\n')
      .filter((line) => line.includes('the event loop was blocked'))
      .map((line) => JSON.parse(line) as { level: unknown; part: string; tookMs: number });
  for (const [ms, levels] of [
    [800, [30]],
    [2600, [30, 40]],
  ] as const) {
    let found: ReturnType<typeof lines>[number] | undefined;
    // A stop within a turn is told as that turn: the loop was held by it.
    for (let i = 0; i < MAX_STOPS && found?.part !== 'stopped'; i++) {
      const before = lines().length;
      server.child.kill('SIGSTOP');
      await pause(ms);
      server.child.kill('SIGCONT');
      await until(
        () => {
          found = lines().findLast(({ tookMs }, at) => at >= before && tookMs >= ms - 100);
          return found !== undefined;
        },
        10_000,
        () => server.err.slice(-2000),
      );
    }
    const { part, level, tookMs } = found!;
    t.equal(part, 'stopped');
    t.equal(level, levels[tookMs < 2000 ? 0 : 1] ?? 40, `${tookMs} ms`);
  }
  const metrics = await (await fetch(`${server.base}/metrics`)).text();
  t.match(metrics, /^airsplice_long_turns_total\{part="stopped"\} [2-9]/m);
});

t.test('a long turn stands in the log with whose it was, and in the metrics', async (t) => {
  const lines: { part?: string; who?: string; tookMs?: number }[] = [];
  // A log that takes its time holds the turn in which a title takes effect.
  const log = {
    ...openLog('silent', 0).log,
    info: (_: object, message: string) => message === 'title' && block(60),
    warn: (fields: object) => void lines.push(fields),
  } as unknown as Log;
  const server = await startServer(
    t,
    demoYaml('log: { longTurnMs: 50 }\nstreams: { burstSeconds: 0 }'),
    undefined,
    log,
  );
  await until(
    async () => {
      await fetch(`${server.base}/metapush/demo/demo-token?song=${lines.length}-${performance.now()}`);
      return lines.some(({ part }) => part === 'change');
    },
    20_000,
    () => JSON.stringify(lines),
  );
  const line = lines.find(({ part }) => part === 'change')!;
  t.equal(line.who, 'demo');
  t.ok(line.tookMs! >= 59);
  const metrics = await (await fetch(`${server.base}/metrics`)).text();
  t.match(metrics, /^airsplice_long_turns_total\{part="change"\} [1-9]/m);
  t.match(metrics, /^airsplice_longest_turn_seconds\{part="change"\} 0\.(0[5-9]|[1-9])/m);
});
