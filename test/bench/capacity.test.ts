/** The simulation of a cluster: known answers, sums that add up, the same seed the same cluster; and the command as it is run. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { audiences, redisLoad, simulate, storm } from '../../bench/capacity/cluster.js';
import { type Costs, costsOf } from '../../bench/capacity/costs.js';
import { capacity, firstLimit, listenerCores } from '../../bench/capacity/machine.js';
import type { Report } from '../../bench/result.js';
import { tempFolder } from '../kit/temp-folder.js';

const RESULTS = ['2026-11-25', 'cluster-2026-11-25'].map(
  (name) => JSON.parse(readFileSync(`bench/results/${name}.json`, 'utf8')) as Report,
);
const costs = costsOf(RESULTS);
/** With figures that are easily multiplied. */
const cost = (value: number) => ({ name: '', value, unit: '', origin: 'assumed', from: '' }) as const;
const EASY = {
  ...Object.fromEntries(Object.keys(costs).map((name) => [name, cost(0)])),
  listenerCores: cost(2 ** -15),
  listenerKernelCores: cost(2 ** -16),
  measuredKbps: cost(128),
  listenerBytes: cost(6000),
  socketBytes: cost(4000),
  overhead: cost(1),
  joinSeconds: cost(0.001),
  redisPushSeconds: cost(0.0005),
  logEntryBytes: cost(2000),
  lastValueBytes: cost(1000),
} as unknown as Costs;

t.test('costs are those of the results; what is missing is named', async (t) => {
  t.equal(costs.listenerCores.origin, 'measured');
  t.ok(costs.listenerCores.value > 1e-6 && costs.listenerCores.value < 1e-4);
  for (const { name, value } of Object.values(costs)) t.ok(Number.isFinite(value) && value > 0, name);
  t.throws(() => costsOf([]), { message: 'the results have no row "15,000 listeners: CPU per 1,000" of listeners' });
});

t.test('a machine: what each resource carries, and which one is first', async (t) => {
  t.equal(listenerCores(EASY, 128), 2 ** -15);
  t.equal(listenerCores(EASY, 256), 2 ** -15 + 2 ** -16, 'twice the bytes, as many writes');
  const machine = { cores: 4, useShare: 0.5, memoryBytes: 10e9, bitsPerSecond: 1e9 };
  t.same(capacity(EASY, machine, 128, 0), { cores: 65_536, memory: 500_000, network: 3906 });
  t.equal(firstLimit(capacity(EASY, machine, 128, 0)), 'network');
  t.equal(firstLimit(capacity(EASY, { ...machine, bitsPerSecond: 1e12 }, 128, 0)), 'cores');
  t.equal(firstLimit(capacity(EASY, { ...machine, bitsPerSecond: 1e12, memoryBytes: 1e8 }, 128, 0)), 'memory');
});

t.test('a cluster: all listeners are somewhere, and the same seed makes the same', async (t) => {
  const plan = { listeners: 100_003, channels: 50, edges: 7, kbps: 128, exponent: 1, seed: 5 };
  const counts = audiences(plan);
  t.equal(
    counts.reduce((all, count) => all + count, 0),
    plan.listeners,
  );
  t.ok(counts[0]! > 20_000 && counts[0]! < 25_000, `the first has a 4.5th: ${counts[0]}`);
  const cluster = simulate(EASY, plan);
  t.equal(
    cluster.edges.reduce((all, { listeners }) => all + listeners, 0),
    plan.listeners,
  );
  for (const { channels, listeners, outBits } of cluster.edges) {
    t.ok(channels <= 50);
    t.equal(outBits, listeners * 128_000);
  }
  t.equal(
    cluster.originBits,
    cluster.edges.reduce((all, { channels }) => all + channels * 128_000, 0),
  );
  t.same(simulate(EASY, plan), cluster);
  t.notSame(simulate(EASY, { ...plan, seed: 6 }), cluster);
  const few = simulate(EASY, { ...plan, listeners: 60, channels: 1000, edges: 20, exponent: 0 });
  t.equal(
    few.edges.reduce((all, { channels }) => all + channels, 0),
    60,
    'each listener has a channel of its own',
  );
});

t.test('the loss of an edge, and the load on Redis', async (t) => {
  const edge = { listeners: 10_000, channels: 1, cores: 1, bytes: 0, outBits: 5e8, inBits: 0 };
  const cluster = { edges: [edge, { ...edge, listeners: 5000 }, { ...edge, listeners: 5000 }], originBits: 0 };
  const lost = storm(EASY, cluster, { kbps: 128 }, { coresOfEach: 2, bitsOfEach: 1e9, burstSeconds: 5 });
  t.equal(lost.joins, 10_000);
  t.equal(lost.joinsOfEach, 5000);
  t.equal(lost.cpuSeconds, 5);
  t.equal(lost.networkSeconds, (5000 * 128_000 * 5) / 5e8);
  t.equal(lost.limit, 'network');
  t.same(redisLoad(EASY, { channels: 100, edges: 2 }, 10, 1000), {
    changesPerSecond: 10,
    cores: 0.005,
    outBytesPerSecond: 40_000,
    memoryBytes: 2_100_000,
  });
});

t.test('the command', async (t) => {
  const folder = tempFolder(t);
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, ['--import=./test/kit/typescript.mjs', 'bench/capacity.ts', ...args]);
  const files = ['--json', join(folder, 'a.json'), '--svg', join(folder, 'a.svg')];
  const { stdout } = await run('--listeners', '20000', '--channels', '20', '--edges', '3', ...files);
  t.match(stdout, /\na listener +[\d.]+ +cores +measured/);
  t.match(stdout, /20,000 listeners of 20 channels/);
  t.match(readFileSync(join(folder, 'a.svg'), 'utf8'), /^<svg [\s\S]*by its network/);
  t.match(JSON.parse(readFileSync(join(folder, 'a.json'), 'utf8')), { plan: { cluster: { edges: 3 } } });
  t.match((await run('--help')).stdout, /--gigabits/);
  await t.rejects(run('--edges', '0'), { code: 2, stderr: /--edges is a number from 1/ });
});
