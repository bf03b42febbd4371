/**
 * `npm run bench:metadata`: what pushes, WebSocket readers and polls cost airsplice, in one run beside nginx with nchan where both are
 * installed. Rounds go A B A B; medians over them are shown, and ratios count. Everything received is checked. It stays on loopback and
 * ends only processes that it started, in any case. Prints a table, then a line of JSON. Exit 1: a party let a reader down.
 */

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Fanout, measureFanout } from './fanout.js';
import { type Feed, startAirsplice, startNginx, track } from './feeds.js';
import { HttpClient } from './http-client.js';
import { hasWrk, measurePolling, type Polling } from './polling.js';
import { stopAll } from './process.js';
import { measurePushing } from './pushing.js';
import { stamp } from './stamp.js';

const USAGE = 'usage: npm run bench:metadata -- [--seconds 10] [--readers 5000]';
const ROUNDS = 3;
const MESSAGES = 100;
const PUSH_CHANNELS = 64;

const { seconds, readers } = readArguments();
const folder = mkdtempSync(join(tmpdir(), 'airsplice-bench-'));
// nginx may run as another user, and must get through to its file.
chmodSync(folder, 0o711);
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stopAll().finally(() => process.exit(130)));
const client = new HttpClient();

try {
  process.exitCode = await run();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
} finally {
  await stopAll();
  client.close();
}

async function run(): Promise<number> {
  const pushed = Array.from({ length: PUSH_CHANNELS }, (_, index) => `push-${index}`);
  const crowds = [...new Set([1, Math.min(1000, readers), readers])];
  const watched = crowds.flatMap((crowd) => Array.from({ length: ROUNDS }, (_, round) => `watch-${crowd}-${round}`));
  const airsplice = await startAirsplice(folder, [...pushed, ...watched, 'poll'], readers, client);
  const song = stamp(0);
  await client.send(airsplice.pushUrl('poll'), track(song));
  const record = (await client.send(airsplice.pollUrl)).text;
  const nginx = await startNginx(folder, record, song, client);
  const feeds: Feed[] = nginx === undefined ? [airsplice] : [airsplice, nginx];

  const faults: string[] = [];
  const fanouts: Fanout[] = [];
  const pollings: Polling[] = [];
  say('pushes');
  const pushing = await measurePushing(airsplice, pushed, seconds, client);
  for (let round = 0; round < ROUNDS; round++) {
    for (const feed of feeds) {
      say(`round ${round + 1} of ${ROUNDS}: ${feed.name}`);
      for (const crowd of crowds)
        await measureFanout(feed, `watch-${crowd}-${round}`, crowd, MESSAGES).then(
          (each) => fanouts.push(each),
          (error: Error) => faults.push(`${feed.name}, ${crowd} readers: ${error.message}`),
        );
      for (const status of [200, 304] as const)
        pollings.push(await measurePolling(feed, status, record, seconds, client));
    }
  }

  const machine = { cpu: cpus()[0]?.model ?? '', cores: cpus().length, node: process.version, kernel: release() };
  const rows: [string, (party: string) => string][] = [
    ['pushes per second, 64 in flight', (party) => (party === 'airsplice' ? pushing.perSecond.toFixed(0) : '-')],
    ['  push ms, p50 / p99', (party) => (party === 'airsplice' ? pair(pushing.ms.p50, pushing.ms.p99) : '-')],
    ...crowds.flatMap((crowd): typeof rows => {
      const of = (party: string, value: (each: Fanout) => number) =>
        median(fanouts.filter((each) => each.party === party && each.readers === crowd).map(value));
      const two = (party: string, key: 'delayMs' | 'spanMs') =>
        pair(
          of(party, (each) => each[key].p50),
          of(party, (each) => each[key].p99),
        );
      const cpu = (party: string) => of(party, (each) => each.cpuMicrosecondsPerDelivery);
      const figures: typeof rows = [
        [`${crowd} readers: push to message ms, p50 / p99`, (party) => two(party, 'delayMs')],
        ['  first to last reader ms, p50 / p99', (party) => two(party, 'spanMs')],
        ['  server CPU µs per delivery, push included', (party) => cpu(party).toFixed(2)],
        ['    ratio to nchan', (party) => (cpu(party) / cpu('nginx + nchan')).toFixed(2)],
      ];
      // The kernel counts CPU in 10 ms: too coarse for 100 deliveries.
      return crowd === 1 ? figures.slice(0, 2) : figures;
    }),
    ...([200, 304] as const).flatMap((status): typeof rows => {
      const of = (party: string, key: 'perSecond' | 'p99Ms') =>
        median(pollings.filter((each) => each.party === party && each.status === status).map((each) => each[key]));
      return [
        [`polls per second, ${status}`, (party) => of(party, 'perSecond').toFixed(0)],
        ['  ratio to nginx', (party) => (of(party, 'perSecond') / of('nginx + nchan', 'perSecond')).toFixed(2)],
        ['  ms, p99', (party) => of(party, 'p99Ms').toFixed(2)],
      ];
    }),
  ];
  const { cpu, cores, node, kernel } = machine;
  const names = feeds.map(({ name }) => name);
  process.stdout.write(
    `${cpu}, ${cores} cores, Node ${node}, kernel ${kernel}; ${ROUNDS} rounds, ${seconds} s, ${MESSAGES} messages, ` +
      `record of ${Buffer.byteLength(record)} bytes\nServer, pusher, readers and ${hasWrk ? 'wrk' : 'a small client in place of wrk'} ` +
      `share these ${cores} cores. While pushing: server ${pushing.serverCores.toFixed(2)} cores, pusher ${pushing.ownCores.toFixed(2)}.\n\n` +
      `${lines(names, rows)}\n${faults.map((fault) => `\n${fault}`).join('')}\n` +
      `${JSON.stringify({ machine, seconds, readers, rounds: ROUNDS, recordBytes: Buffer.byteLength(record), pushing, fanouts, pollings, faults })}\n`,
  );
  return faults.length === 0 ? 0 : 1;
}

function lines(names: readonly string[], rows: readonly [string, (party: string) => string][]): string {
  const cells = [['', ...names], ...rows.map(([name, cell]) => [name, ...names.map(cell)])];
  const widths = cells[0]!.map((_, index) => Math.max(...cells.map((row) => row[index]!.length)));
  return cells
    .map((row) => row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('   '))
    .join('\n');
}

function pair(p50: number, p99: number): string {
  return `${p50.toFixed(2)} / ${p99.toFixed(2)}`;
}

/** NaN of nothing, so that a party without a figure shows it. */
function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: { seconds: { type: 'string', default: '10' }, readers: { type: 'string', default: '5000' } },
    });
    return { seconds: bounded('seconds', values.seconds, 60), readers: bounded('readers', values.readers, 15_000) };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\n`);
    process.exit(2);
  }
}

function bounded(name: string, text: string, most: number): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value >= 1 && value <= most))
    throw new RangeError(`--${name} is a number from 1 to ${most}`);
  return value;
}
