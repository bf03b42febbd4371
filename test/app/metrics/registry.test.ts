/** The registry of metrics: what Prometheus reads, what several processes add up to, and that a scrape is one metric a turn of the event loop. */

import { Gauge, Registry } from 'prom-client';
import t from 'tap';
import { MetricRegistry } from '../../../src/app/metrics/registry.js';

const METRICS = 20;
const ROWS = 200;

/** A gauge and a counter with a row for each channel. */
function registryOf(value: number, among: 'sum' | 'max' = 'sum'): MetricRegistry {
  const registry = new MetricRegistry();
  const read = (set: (labels: { channel: string }, value: number) => void) => {
    for (const channel of ['a "quoted"', 'b\\n']) set({ channel }, value);
  };
  registry.gauge('a_gauge', 'What it\nis', ['channel'], read, among);
  registry.counter('a_total', 'Counts', ['channel'], read);
  return registry;
}

t.test('as prom-client writes them', async (t) => {
  const theirs = new Registry();
  const gauge = new Gauge({ name: 'a_gauge', help: 'What it\nis', labelNames: ['channel'], registers: [theirs] });
  gauge.set({ channel: 'a "quoted"' }, 7);
  gauge.set({ channel: 'b\\n' }, 7);
  const ours = await registryOf(7).text();
  t.equal(ours.slice(0, ours.indexOf('\n\n') + 1), await theirs.metrics());
  t.ok(ours.endsWith('\na_total{channel="b\\\\n"} 7\n'), ours);
});

t.test('a row with a label that was not named is a fault of ours', async (t) => {
  const registry = new MetricRegistry();
  registry.gauge('a_gauge', 'One', ['channel'], (set) => set({ chanel: 'a' }, 1));
  await t.rejects(registry.text(), { message: 'a_gauge has no label chanel' });
});

t.test('several processes: sums, the largest, and what one alone has', async (t) => {
  const alone = registryOf(5, 'max');
  alone.gauge('alone', 'Of one', [], (set) => set({}, 3));
  const text = await MetricRegistry.sum([await registryOf(2, 'max').plain(), await alone.plain()]);
  for (const row of ['a_gauge{channel="b\\\\n"} 5', 'a_total{channel="b\\\\n"} 7', 'alone 3', '# TYPE alone gauge']) {
    t.ok(text.split('\n').includes(row), row);
  }
  t.equal(text.split('# TYPE').length - 1, 3, 'each once');
});

t.test('a scrape of many rows is a turn of the event loop for each metric', async (t) => {
  const registry = new MetricRegistry();
  let turns = 0;
  let inTurn = 0;
  let most = 0;
  for (let i = 0; i < METRICS; i++) {
    registry.gauge(`metric_${i}`, 'Many', ['channel'], (set) => {
      most = Math.max(most, ++inTurn);
      for (let row = 0; row < ROWS; row++) set({ channel: `${row}` }, row);
    });
  }
  let isOver = false;
  const turn = () => {
    turns++;
    inTurn = 0;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  for (const scrape of [
    () => registry.text(),
    () => registry.plain(),
    async () => MetricRegistry.sum([await registry.plain(), await registry.plain()]),
  ]) {
    turns = 0;
    await scrape();
    t.ok(turns >= METRICS - 1, `${turns} turns`);
    t.equal(most, 1);
  }
  isOver = true;
});
