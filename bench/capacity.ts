/**
 * `npm run bench:capacity`: computes the capacity of a cluster from the measured costs of a listener, watcher, join, push and channel
 * (bench/README.md, "Capacity"). It measures nothing.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { costsOf } from './capacity/costs.js';
import { capacityPlot, capacityReport, capacityText } from './capacity/report.js';
import { runCommand } from './command.js';
import type { Report } from './result.js';
import { path } from './target.js';

const FILES = ['results/2026-11-25.json', 'results/cluster-2026-11-25.json'];
const GIB = 2 ** 30;

const USAGE = `usage: npm run bench:capacity -- [options]
  --from FILE[,FILE]   of npm run bench: all scenarios, and cluster; default: the last ones that are kept
  --listeners N        default 1,000,000
  --channels N         default 2,000
  --edges N            default 40; half, twice and four times as many stand beside it
  --kbps N             of a stream, for the cluster; default 128
  --cores N            of an edge; default 16
  --gigabytes N        default 32
  --gigabits N         default 10
  --use N              how much of each may be used, %; default 70
  --exponent N         of Zipf's law, by which listeners choose channels; default 1
  --seed N             default 1
  --json FILE, --svg FILE
  --help`;

await runCommand(async () => {
  const { values } = parseArgs({
    options: {
      from: { type: 'string', default: FILES.map((file) => path(file)).join(',') },
      listeners: { type: 'string', default: '1000000' },
      channels: { type: 'string', default: '2000' },
      edges: { type: 'string', default: '40' },
      kbps: { type: 'string', default: '128' },
      cores: { type: 'string', default: '16' },
      gigabytes: { type: 'string', default: '32' },
      gigabits: { type: 'string', default: '10' },
      use: { type: 'string', default: '70' },
      exponent: { type: 'string', default: '1' },
      seed: { type: 'string', default: '1' },
      json: { type: 'string' },
      svg: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const number = (
    name:
      | 'listeners'
      | 'channels'
      | 'edges'
      | 'kbps'
      | 'cores'
      | 'gigabytes'
      | 'gigabits'
      | 'use'
      | 'exponent'
      | 'seed',
    least: number,
    most: number,
  ) => {
    const value = Number(values[name]);
    if (!(value >= least && value <= most)) throw new RangeError(`--${name} is a number from ${least} to ${most}`);
    return value;
  };
  const whole = (...args: Parameters<typeof number>) => {
    const value = number(...args);
    if (!Number.isInteger(value)) throw new RangeError(`--${args[0]} is a whole number`);
    return value;
  };
  const reports = values.from.split(',').map((file) => JSON.parse(readFileSync(file, 'utf8')) as Report);
  const report = capacityReport(costsOf(reports), {
    machine: {
      cores: whole('cores', 1, 1024),
      useShare: number('use', 1, 100) / 100,
      memoryBytes: number('gigabytes', 1, 100_000) * GIB,
      bitsPerSecond: number('gigabits', 0.1, 1000) * 1e9,
    },
    cluster: {
      listeners: whole('listeners', 1, 20_000_000),
      channels: whole('channels', 1, 100_000),
      edges: whole('edges', 1, 10_000),
      kbps: number('kbps', 8, 10_000),
      exponent: number('exponent', 0, 5),
      seed: whole('seed', 0, 4_294_967_295),
    },
    burstSeconds: 5,
  });
  process.stdout.write(capacityText(report));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 1)}\n`);
  if (values.svg !== undefined) writeFileSync(values.svg, capacityPlot(report));
  return 0;
}, USAGE);
