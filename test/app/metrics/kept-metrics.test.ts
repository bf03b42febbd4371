/** Sums of metrics of several processes: they never fall when a worker ends, and what must not be added up is not. */

import t from 'tap';
import { KeptMetrics } from '../../../src/app/metrics/kept-metrics.js';
import { MetricRegistry } from '../../../src/app/metrics/registry.js';

/** A worker's metrics. */
async function metricsOf(worker: number, pushes: number, lag: number): Promise<unknown> {
  const registry = new MetricRegistry();
  registry.counter('pushes_total', 'x', ['channel'], (set) => set({ channel: 'demo' }, pushes));
  registry.counter('cpu_total', 'x', ['process'], (set) => set({ process: `worker ${worker}` }, 5));
  registry.gauge('listeners', 'x', [], (set) => set({}, 3));
  registry.gauge('lag', 'x', [], (set) => set({}, lag), 'max');
  return registry.plain();
}

/** @param linked those that are there, whether they have answered or not */
async function linesOf(
  kept: KeptMetrics,
  answers: ReadonlyMap<number, unknown>,
  linked: Iterable<number> = answers.keys(),
): Promise<string[]> {
  const text = await MetricRegistry.sum(await kept.with(answers, new Set(linked)));
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

t.test('counters are added up and stay, gauges go, the largest counts of what is of all', async (t) => {
  const kept = new KeptMetrics();
  const both = new Map([
    [1, await metricsOf(1, 10, 4)],
    [2, await metricsOf(2, 20, 6)],
  ]);
  t.same((await linesOf(kept, both)).sort(), [
    ...['cpu_total{process="worker 1"} 5', 'cpu_total{process="worker 2"} 5', 'lag 6', 'listeners 6'],
    'pushes_total{channel="demo"} 30',
  ]);
  const second = new Map([[2, await metricsOf(2, 21, 5)]]);
  t.same((await linesOf(kept, second)).sort(), [
    ...['cpu_total{process="worker 2"} 5', 'lag 5', 'listeners 3', 'pushes_total{channel="demo"} 31'],
  ]);
  kept.keep(2, await metricsOf(2, 25, 5));
  t.same(await linesOf(kept, new Map()), ['pushes_total{channel="demo"} 35'], 'as it said at its end');
  const back = new Map([[1, await metricsOf(1, 12, 4)]]);
  t.ok((await linesOf(kept, back)).includes('pushes_total{channel="demo"} 37'), 'one that answers again counts once');
});

t.test('many workers that came and went stay counted', async (t) => {
  const kept = new KeptMetrics();
  for (let worker = 1; worker <= 30; worker++) {
    const lines = await linesOf(kept, new Map([[worker, await metricsOf(worker, 1, 1)]]));
    t.ok(lines.includes(`pushes_total{channel="demo"} ${worker}`), lines.join());
  }
});

t.test('workers that do not answer in time count once, however many they are', async (t) => {
  const kept = new KeptMetrics();
  const all = new Map<number, unknown>();
  for (let worker = 1; worker <= 12; worker++) all.set(worker, await metricsOf(worker, 10, 1));
  const row = async (answers: ReadonlyMap<number, unknown>) =>
    (await linesOf(kept, answers, all.keys())).find((line) => line.startsWith('pushes_total'));
  for (const answers of [all, new Map(), all, new Map([...all].slice(3)), all])
    t.equal(await row(answers), 'pushes_total{channel="demo"} 120');
});

t.test('two scrapes at once have the same', async (t) => {
  const kept = new KeptMetrics();
  for (let worker = 1; worker <= 12; worker++) kept.keep(worker, await metricsOf(worker, 10, 1));
  const both = await Promise.all([linesOf(kept, new Map()), linesOf(kept, new Map())]);
  for (const lines of both) t.same(lines, ['pushes_total{channel="demo"} 120']);
});
