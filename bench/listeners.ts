/**
 * A load script for any stream server on this machine: N listeners in this one process, with constant checks of each one's ICY phase and audio
 * frames. Prints a table and one JSON line; progress goes to stderr (`full`, `window`: bench/measure.ts waits for them). Ends by itself;
 * SIGINT ends it early and prints the results so far. Exit code 1: a listener was refused, dropped, or received something wrong.
 *
 *   tsx bench/listeners.ts --url http://127.0.0.1:8000/demo.mp3 --listeners 4000 --seconds 20 --rate 1000
 */

import { parseArgs } from 'node:util';
import { loopbackTarget, runCrowd } from './crowd.js';
import { type CrowdReport, isFaultless } from './report.js';
import type { Percentiles, Spread } from './statistics.js';

const USAGE = `usage: tsx bench/listeners.ts --url http://127.0.0.1:PORT/MOUNT
  [--listeners 1000] [--seconds 20] [--rate 1000]  how many, how long (the window), arrivals per second
  [--warm 2]        seconds between the last arrival and the window
  [--plain]         do not ask for ICY metadata
  [--no-frames]     do not check that audio frames join (Ogg, noise)
  [--channels N]    {n} in the URL's path is a listener's number modulo N
  [--feed-every N]  each Nth listener has a metaid and reads its feed
  [--needle TEXT]   print when each listener got a title with this text
  [--json]          only JSON on stdout`;

const controller = new AbortController();
process.once('SIGINT', () => controller.abort());
process.once('SIGTERM', () => controller.abort());

const options = readArguments();
const report = await runCrowd({
  ...options,
  signal: controller.signal,
  onPhase: (phase) => process.stderr.write(`${phase}\n`),
});
if (!options.json) process.stdout.write(`${table(report)}\n\n`);
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exitCode = isFaultless(report) ? 0 : 1;

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        url: { type: 'string' },
        listeners: { type: 'string', default: '1000' },
        seconds: { type: 'string', default: '20' },
        rate: { type: 'string', default: '1000' },
        warm: { type: 'string', default: '2' },
        plain: { type: 'boolean', default: false },
        'no-frames': { type: 'boolean', default: false },
        channels: { type: 'string', default: '1' },
        'feed-every': { type: 'string' },
        needle: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    });
    if (values.url === undefined) throw new RangeError('--url is missing');
    if (values.plain && values.needle !== undefined)
      throw new RangeError('--needle looks into titles: not with --plain');
    loopbackTarget(values.url);
    return {
      url: values.url,
      listeners: bounded('listeners', values.listeners, 1, 200_000),
      seconds: bounded('seconds', values.seconds, 0, 3600),
      rate: bounded('rate', values.rate, 1, 100_000),
      warmSeconds: bounded('warm', values.warm, 0, 600),
      icy: !values.plain,
      frames: !values['no-frames'],
      json: values.json,
      channels: bounded('channels', values.channels, 1, 100_000),
      ...(values['feed-every'] !== undefined && {
        feedEvery: bounded('feed-every', values['feed-every'], 1, 100_000),
      }),
      ...(values.needle !== undefined && { needle: values.needle }),
    };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\n`);
    process.exit(2);
  }
}

function bounded(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!(value >= least && value <= most)) throw new RangeError(`--${name} is a number from ${least} to ${most}`);
  return value;
}

function table(r: CrowdReport): string {
  const rows: [string, string][] = [
    ['target', r.url + (r.interrupted ? '  (interrupted)' : '')],
    ['connected', `${r.connected} of ${r.listeners} in ${r.joinSeconds.toFixed(1)} s`],
    ['refused', counts(r.refused)],
    ['dropped', counts(r.dropped)],
    ['connect ms', percentiles(r.connectMs)],
    ['first byte ms', percentiles(r.firstByteMs)],
    ['bytes', spread(r.bytes)],
    [`bytes in ${r.windowSeconds.toFixed(1)} s`, `${spread(r.windowBytes)}  (${r.kbitPerSecond.toFixed(1)} kb/s)`],
    ['icy-metaint', counts(r.metaints)],
    ['ICY errors', String(r.icyErrors)],
    ['continuity breaks', `${r.breaks}  (${r.frames} frames; ${r.partialFirstFrames} began within a frame)`],
    ...r.faults.map((fault): [string, string] => ['', fault]),
    ['titles', counts(r.titles)],
  ];
  if (r.needle) {
    const { saw, firstEpochMs, p50Ms, p99Ms, lastMs } = r.needle;
    const after = [p50Ms, p99Ms, lastMs].map((ms) => ms.toFixed(0));
    const times = `first at ${firstEpochMs.toFixed(0)}; after it p50 ${after[0]}  p99 ${after[1]}  last ${after[2]} ms`;
    rows.push(['needle', saw === 0 ? 'no listener saw it' : `${saw} saw it, ${times}`]);
  }
  rows.push(['own CPU', `${r.ownCores.toFixed(3)} cores`]);
  return rows.map(([name, value]) => `${name.padEnd(20)}${value}`).join('\n');
}

function percentiles({ p50, p90, p99, max }: Percentiles): string {
  return [`p50 ${p50.toFixed(1)}`, `p90 ${p90.toFixed(1)}`, `p99 ${p99.toFixed(1)}`, `max ${max.toFixed(1)}`].join(
    '  ',
  );
}

function spread({ all, min, median, max }: Spread): string {
  return `all ${all}  min ${min}  median ${median}  max ${max}`;
}

function counts(each: Readonly<Record<string, number>>): string {
  return (
    Object.entries(each)
      .map(([key, value]) => `${key}: ${value}`)
      .join(', ') || '0'
  );
}
