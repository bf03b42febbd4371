/**
 * What statistics cost a process with 10,000 listeners: at a connection's beginning and end, and once a minute. Printed; the bounds are for faults only.
 * And what a title costs on a channel with many.
 */

import t from 'tap';
import { SteadyTime } from '../../src/base/steady-time.js';
import { Collector, type CountedConnection } from '../../src/statistics/collector.js';
import { KeptPlays } from '../../src/statistics/kept-plays.js';
import { Recorder } from '../../src/statistics/recorder.js';
import { FakeClock } from '../kit/clock.js';
import { costRatio } from '../kit/cost.js';
import { MemoryStore } from '../kit/memory-store.js';
import { makeRecord } from '../kit/record.js';

const LISTENERS = 10_000;
const AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';

t.test('10,000 listeners', async (t) => {
  const clock = new FakeClock();
  const kept = {
    enabled: true,
    minutesKept: 1440,
    hoursKept: 8784,
    rowsPerHour: 100,
    titleDays: 400,
    titlesPerChannel: 1000,
  };
  const countries = Array.from(
    { length: 60 },
    (_, i) => `${String.fromCharCode(65 + (i % 26))}${String.fromCharCode(65 + (i >> 2))}`,
  );
  const collector = new Collector(
    clock,
    { of: (address) => countries[(address.length * 7) % 60]! },
    () => kept.rowsPerHour,
  );
  const recorder = new Recorder(
    clock,
    new MemoryStore(),
    () => kept,
    (error) => t.fail(String(error)),
    () => true,
    (salts) => collector.setSalts(salts),
  );
  recorder.restore([]);
  const heapBytes = process.memoryUsage().heapUsed;
  const connections: CountedConnection[] = [];
  const timed = (work: () => void): number => {
    const startMs = performance.now();
    work();
    return performance.now() - startMs;
  };
  const joinMs = timed(() => {
    for (let i = 0; i < LISTENERS; i++) {
      const headers: Record<string, string> = {
        'user-agent': `${AGENT} ${i % 50}`,
        referer: `https://p${i % 30}.example/`,
      };
      const address = `10.${i >> 8}.${i & 255}.1`;
      connections.push(
        collector.join(`c${i % 10}`, 'house', { method: 'GET', url: '/', address, header: (name) => headers[name] }),
      );
    }
  });
  const bytes = (process.memoryUsage().heapUsed - heapBytes) / LISTENERS;
  let figures = null as ReturnType<Collector['takeEnded']>;
  const [turns, minuteMs]: [number[], number[]] = [[], []];
  for (let minute = 0; minute < 5; minute++) {
    clock.advance(60_000);
    const startMs = performance.now();
    const beginMs = timed(() => {
      figures = collector.takeEnded();
      recorder.add(figures!, 0);
    });
    turns.push(beginMs);
    let isDone = false;
    void recorder.save().then(() => {
      isDone = true;
    });
    // The rest is done in pieces, one a turn.
    for (let turn = 0; turn < LISTENERS / 500 || !isDone; turn++) {
      const turnMs = performance.now();
      await new Promise((resolve) => setImmediate(resolve));
      turns.push(performance.now() - turnMs);
    }
    minuteMs.push(performance.now() - startMs);
  }
  await recorder.save();
  const leaveMs = timed(() => {
    for (const connection of connections) collector.leave(connection, 180_000);
  });
  const us = (ms: number) => `${((ms * 1000) / LISTENERS).toFixed(1)} µs`;
  t.comment(
    `join ${us(joinMs)}, leave ${us(leaveMs)}, a minute ${minuteMs.map((ms) => ms.toFixed(1)).join(', ')} ms, longest turns ${turns
      .sort((a, b) => b - a)
      .slice(0, 4)
      .map((ms) => ms.toFixed(1))
      .join(', ')} ms, ${Math.round(bytes)} bytes a connection, ${JSON.stringify(figures).length} bytes to the hub`,
  );
  t.ok(joinMs < LISTENERS, 'less than a millisecond each');
  t.ok(Math.min(...minuteMs) < 600, 'less than a hundredth of the minute');
  t.equal(collector.size, 0);
});

t.test('many titles of a channel between two saves cost as much each as few', async (t) => {
  const [titles, channels] = [4000, 100];
  const clock = new FakeClock();
  const time = new SteadyTime(clock);
  /** As many titles, of one channel or spread over many. */
  const onChannels = (count: number) => () => {
    const plays = new KeptPlays(clock, new MemoryStore(), () => undefined);
    for (let i = 0; i < titles; i++) {
      const effectAtMs = clock.wallMs() + i;
      const record = makeRecord({ id: `${i}`, effectAtMs });
      plays.onTitle(`c${i % count}`, [{ record, fromMs: effectAtMs, toMs: null }], time);
    }
    return plays;
  };
  t.equal(onChannels(1)().take().plays.length, titles);
  const ratio = await costRatio(3, onChannels(1), onChannels(channels));
  t.ok(ratio < 3, `${ratio.toFixed(2)} times as much`);
});
