import net from 'node:net';
import t from 'tap';
import { SystemClock } from '../src/clock.js';
import { type Log, openLog } from '../src/log.js';
import { Watchdog } from '../src/watchdog.js';
import { until } from './kit/player.js';
import { demoYaml, startServer } from './kit/server.js';

function hold(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

t.test('of several long turns the longest is told, once, with whose it was', async (t) => {
  const dog = new Watchdog();
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

t.test('whoever is not named leaves no name behind', async (t) => {
  const dog = new Watchdog();
  dog.took('http', 200);
  dog.blame('192.0.2.1');
  dog.took('poll', 300);
  t.same(dog.take(), { part: 'poll', who: '', tookMs: 300 });
});

t.test('a late loop is blamed on nobody where a long turn does not explain it', async (t) => {
  const dog = new Watchdog();
  dog.late(99);
  t.equal(dog.take(), null);
  dog.took('encoder', 150);
  dog.late(160);
  t.match(dog.take(), { part: 'encoder' });
  dog.took('encoder', 101);
  dog.late(500);
  t.same(dog.take(), { part: 'unknown', who: '', tookMs: 500 });
});

t.test('the system clock times what it rings, and sees what it does not', async (t) => {
  const clock = new SystemClock();
  t.teardown(() => clock.stop());
  class Sluggard {
    ring(): void {
      hold(120);
    }
  }
  clock.alarm(clock.now(), new Sluggard());
  await until(() => clock.watchdog.long.timer > 0, 5000);
  const turn = clock.watchdog.take()!;
  t.match(turn, { part: 'timer', who: 'Sluggard' });
  t.ok(turn.tookMs >= 119);
  clock.watchdog.long.unknown = 0;
  hold(250);
  await until(() => clock.watchdog.long.unknown > 0, 5000);
  t.match(clock.watchdog.take(), { part: 'unknown', who: '' });
});

t.test('a client that costs a long turn is named in the log and counted by its road', async (t) => {
  const lines: { part?: string; who?: string; tookMs?: number }[] = [];
  const log = { ...openLog('silent', 0).log, warn: (fields: object) => void lines.push(fields) } as Log;
  const server = await startServer(t, demoYaml('log: { longTurnMs: 1 }'), undefined, log);
  await fetch(`${server.base}/metapush/demo/demo-token?song=One`);
  const polls = 'GET /metadata/channel/demo.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1000);
  const client = net.connect(server.port, '127.0.0.1');
  t.teardown(() => client.destroy());
  client.resume();
  await until(
    () => {
      client.write(polls);
      return lines.some(({ part }) => part === 'poll');
    },
    10_000,
    () => JSON.stringify(lines),
  );
  const line = lines.find(({ part }) => part === 'poll')!;
  t.equal(line.who, '127.0.0.1');
  t.ok(line.tookMs! >= 1);
  const metrics = await (await fetch(`${server.base}/metrics`)).text();
  t.match(metrics, /^airsplice_long_turns_total\{part="poll"\} [1-9]/m);
  t.match(metrics, /^airsplice_longest_turn_seconds\{part="poll"\} 0\.00[1-9]|0\.[0-9]*[1-9]/m);
});
