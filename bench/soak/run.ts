/**
 * `npm run soak`: a server with workers under an ordinary, varied load for two hours: does it leak memory, open files or handles, does it get
 * slower? Prints a table; --save writes JSON and a plot. It stays on loopback, ends by itself, and stops only its own processes. SIGINT ends it
 * early, with the results so far. Processes are not replaced meanwhile, so that each series is of one process.
 * Exit code 1: a figure grows, or wrong data was received; 2: it could not be run.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAirsplice } from '../airsplice.js';
import { runCommand } from '../command.js';
import { machine } from '../machine.js';
import { path } from '../target.js';
import { readArguments, type SoakOptions, USAGE } from './arguments.js';
import { read, write } from './file.js';
import { CHANNELS, Life } from './life.js';
import { picture } from './picture.js';
import { type Soak, text, verdictOf } from './report.js';
import { type Sample, Sampler } from './samples.js';
import { leftovers } from './verdict.js';

/** Time between the start of the server and the sample before the load, since probes write every 5 s. */
const SETTLED_MS = 8_000;
/** Number of samples between two saves. */
const SAMPLES_PER_SAVE = 40;
/** How long a session can be read after its listener has gone. */
const KEEP_SECONDS = 10;
/** Further time after the load. */
const IDLE_SECONDS = 30;
const IDLE_LOOK_MS = 6_000;
/** In a run shorter than this, encoders reconnect sooner. */
const LONG_MINUTES = 10;
const DEMO = path('../config/demo/airsplice.mp3');

/** Lets intended caches fill within some minutes, and slow listeners fall off the tape. */
const OPTIONS = {
  sessions: { keepSeconds: KEEP_SECONDS },
  streams: { lagSeconds: 12 },
  history: { entries: 200 },
  limits: { addressesRemembered: 100 },
};

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());

await runCommand(main, USAGE);

async function main(): Promise<number> {
  const options = readArguments(process.argv.slice(2));
  if (options === 'help') {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const soak = options.from === undefined ? await run(options) : read(readFileSync(options.from, 'utf8'));
  process.stdout.write(text(soak, options.isMarkdown));
  save(soak, options);
  return verdictOf(soak).wrong.length === 0 ? 0 : 1;
}

async function run(options: SoakOptions): Promise<Soak> {
  const { minutes, workers, listeners, joinsPerSecond } = options;
  const folder = mkdtempSync(join(tmpdir(), 'airsplice-soak-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const probes = join(folder, 'probes');
  mkdirSync(probes);
  const known = machine([process.execPath]);
  const server = await startAirsplice(
    { name: 'airsplice', node: process.execPath, workers },
    {
      folder,
      nodeOptions: ['--import', `file://${path('soak/probe.mjs')}?folder=${encodeURIComponent(probes)}`],
      options: OPTIONS,
      channels: Object.fromEntries(
        Object.entries(CHANNELS).map(([key, sources]) => [
          key,
          sources.map((source) => (source === 'file' ? { type: 'file', path: DEMO } : source)),
        ]),
      ),
    },
  );
  const sampler = new Sampler(server, probes);
  await sleep(SETTLED_MS);
  const before = await sampler.take();
  const life = new Life({ server, listeners, joinsPerSecond, encoderShare: Math.min(1, minutes / LONG_MINUTES) });
  let hasEnded = false;
  void server.server.ended.then(() => {
    if (!hasEnded) life.fault(`the server has ended: ${server.server.failure('').message}`);
    hasEnded = true;
    interrupted.abort();
  });
  const samples: Sample[] = [];
  const date = new Date().toISOString();
  const soFar = (after: Sample | null): Soak => ({
    date,
    machine: known,
    workers,
    before,
    samples,
    after,
    minutes: (samples.at(-1)?.seconds ?? 0) / 60,
    counts: life.counts,
    checkedBytes: life.listeners.bytes,
    faultCount: life.faultCount,
    faults: life.faults,
    notes: life.notes,
  });
  sampler.start();
  life.start();
  const endMs = performance.now() + minutes * 60_000;
  while (performance.now() < endMs && !interrupted.signal.aborted) {
    const ms = Math.min(options.everySeconds * 1000, endMs - performance.now());
    await sleep(ms, undefined, { signal: interrupted.signal }).catch(() => undefined);
    if (hasEnded) break;
    const sample = await sampler.take();
    samples.push(sample);
    process.stderr.write(line(sample, life));
    if (samples.length % SAMPLES_PER_SAVE === 0) save(soFar(null), options);
  }
  await life.stop();
  const after = hasEnded ? null : await idle(sampler, before);
  for (const [name, kinds] of Object.entries(sampler.kinds)) life.notes.push(`${name}, idle: ${JSON.stringify(kinds)}`);
  sampler.stop();
  hasEnded = true;
  return soFar(after);
}

/** Resolves with a sample when nothing is left of the load, or after a time limit. */
async function idle(sampler: Sampler, before: Sample): Promise<Sample> {
  const deadline = performance.now() + (KEEP_SECONDS + IDLE_SECONDS) * 1000;
  for (;;) {
    await sleep(IDLE_LOOK_MS);
    const sample = await sampler.take();
    if (leftovers(before, sample).length === 0 || performance.now() > deadline) return sample;
  }
}

function save(soak: Soak, { save, out }: SoakOptions): void {
  if (save === undefined) return;
  const folder = resolve(out ?? path('results'));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${save}.json`), write(soak));
  if (soak.samples.length > 1) writeFileSync(join(folder, `${save}.svg`), picture(soak));
}

function line({ seconds, processes, counts, cores, ownLoopP99Ms }: Sample, life: Life): string {
  const each = Object.entries(processes).map(([name, { residentBytes, heapBytes, files, loopP99Ms }]) => {
    const figures = [residentBytes / 2 ** 20, heapBytes / 2 ** 20].map((mib) => mib.toFixed(0)).join('/');
    return `${name} ${figures} MiB ${files} files ${Number.isNaN(loopP99Ms) ? '' : `${loopP99Ms.toFixed(1)} ms`}`;
  });
  return `${(seconds / 60).toFixed(1)} min: ${each.join(', ')}; ${counts.listeners} listeners, ${counts.sessions} sessions, ${counts.watchers} watchers; ${cores.toFixed(3)} cores, own p99 ${ownLoopP99Ms.toFixed(1)} ms; ${life.faultCount} faults\n`;
}
