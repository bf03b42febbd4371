/**
 * `npm run bench`: what a listener costs airsplice, measured in one run beside the floor (the least that Node can do) and, if asked, beside a
 * peer. All targets run at once; the rounds go A B A B, so that a noisy machine is noisy to each. Ratios count, seconds do not. It ends
 * only processes that it started, in any case; results are kept only with --save. Exit 1: airsplice or the floor let a listener down.
 */

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startIcecast } from './icecast.js';
import { type Measurement, measure } from './measure.js';
import { stopAll } from './process.js';
import { isFaultless } from './report.js';
import { table } from './table.js';
import { path, startAirsplice, startFloor, type Target } from './target.js';

const USAGE = `usage: npm run bench -- [--listeners 4000] [--seconds 30] [--rounds 3]
  [--peer icecast]  also measure Icecast 2 (needs icecast2 and ffmpeg)
  [--save NAME]     keep the figures in bench/results/DATE-NAME.json`;
const RATE = 1000;
/** Icecast's listen queue holds 5 connections: it takes no more without making them wait for seconds. */
const ICECAST_RATE = 250;
const WARM_SECONDS = 5;
/** Files that a process needs beside its listeners' sockets. */
const OTHER_FILES = 200;

const options = readArguments();
const folder = mkdtempSync(join(tmpdir(), 'airsplice-bench-'));
// Icecast runs as another user, and must get through to its folder.
chmodSync(folder, 0o711);
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stopAll().finally(() => process.exit(130)));

try {
  process.exitCode = await run();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
} finally {
  await stopAll();
}

async function run(): Promise<number> {
  const { listeners, seconds, rounds, peer, save } = options;
  const targets: Target[] = [await startAirsplice(subfolder('airsplice'), RATE), await startFloor(RATE)];
  if (peer) targets.push(await startIcecast(subfolder('icecast'), listeners, ICECAST_RATE));

  const measurements: Measurement[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const target of targets) {
      process.stderr.write(`round ${round} of ${rounds}: ${target.name}\n`);
      measurements.push(await measure(target, { listeners, seconds, warmSeconds: WARM_SECONDS }));
    }
  }
  const machine = { cpu: cpus()[0]?.model ?? '', cores: cpus().length, node: process.version, kernel: release() };
  const { cpu, cores, node, kernel } = machine;
  process.stdout.write(
    `${cpu}, ${cores} cores, Node ${node}, kernel ${kernel}; ${listeners} listeners, ${rounds} × ${seconds} s\n\n` +
      `${table(
        targets.map(({ name }) => name),
        measurements,
      )}\n`,
  );
  if (save !== undefined) {
    mkdirSync(path('results'), { recursive: true });
    const file = path(`results/${new Date().toISOString().slice(0, 10)}-${save}.json`);
    writeFileSync(file, `${JSON.stringify({ machine, listeners, seconds, rounds, measurements }, undefined, 2)}\n`);
    process.stdout.write(`\nsaved: ${file}\n`);
  }
  return measurements.every(({ party, crowd }) => party === 'icecast' || isFaultless(crowd)) ? 0 : 1;
}

function subfolder(name: string): string {
  const made = join(folder, name);
  mkdirSync(made);
  return made;
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        listeners: { type: 'string', default: '4000' },
        seconds: { type: 'string', default: '30' },
        rounds: { type: 'string', default: '3' },
        peer: { type: 'string' },
        save: { type: 'string' },
      },
    });
    if (values.peer !== undefined && values.peer !== 'icecast') throw new RangeError('--peer knows icecast only');
    if (values.save !== undefined && !/^[\w.-]+$/.test(values.save))
      throw new RangeError('--save takes a plain file name');
    return {
      listeners: bounded('listeners', values.listeners, openFiles() - OTHER_FILES),
      seconds: bounded('seconds', values.seconds, 600),
      rounds: bounded('rounds', values.rounds, 20),
      peer: values.peer !== undefined,
      save: values.save,
    };
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

/** How many files a process may open here. Node raises its soft limit to the hard one. */
function openFiles(): number {
  return Number(
    /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Number.POSITIVE_INFINITY,
  );
}
