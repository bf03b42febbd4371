/**
 * Legs of a run one after the other, with one closing line. Files that fail are run once more, each alone and with the same random input, when the
 * machine has become quiet: where it was too busy for what a test promises they pass, a fault fails again. The first failure stays in the output, and
 * a line before the closing one names each file that needed it.
 */

import { writeFileSync } from 'node:fs';
import { closingLine } from './counts.mjs';
import { MachineLoad } from './machine-load.mjs';
import { Pool } from './pool.mjs';
import { Seeded } from './seeded.mjs';

/** Of one leg: a busy machine does not fail more. */
const MAX_FILES_AGAIN = 5;
/** Of one run, with the waiting for a quiet machine. */
const MAX_AGAIN_MS = 300_000;
const MAX_QUIET_WAIT_MS = 30_000;
const QUIET_SHARE = 0.5;
const MAX_FILES_NAMED = 10;

/**
 * @typedef {{ name: string, files: string[], own?: string[], first?: string[], env?: Record<string, string>, processes?: number, timeoutMs?: number,
 * graceMs?: number }} Leg
 *   `own`: files that have a process of their own; `first`: those that begin before others; `processes` at a time; `timeoutMs` of a file, `graceMs` as in pool.mjs
 */

const DEFAULT_PROCESSES = 6;
const DEFAULT_TIMEOUT_MS = 300_000;

export class Legs {
  #load = new MachineLoad();
  #numbers;
  #counts = { passed: 0, failed: 0, skipped: 0 };
  #times = [];
  #files = [];
  #again = [];
  #againMs = 0;
  #isOk = true;
  #runSeed = process.env.RUN_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
  #pathOf;
  #maxQuietWaitMs;

  /**
   * @param {(file: string) => string} pathOf what is loaded for a file
   * @param maxQuietWaitMs how long a file that failed waits for a quiet machine
   */
  constructor(pathOf, maxQuietWaitMs = MAX_QUIET_WAIT_MS) {
    this.#pathOf = pathOf;
    this.#maxQuietWaitMs = maxQuietWaitMs;
    this.#numbers = new Seeded(Number(this.#runSeed));
  }

  /** @param {Leg} leg */
  async run(leg) {
    const startedMs = performance.now();
    const failed = [];
    await this.#runFiles(leg, this.#numbers.shuffled(leg.files), (result) => {
      if (result.counts.failed > 0) failed.push(result);
    });
    if (failed.length > MAX_FILES_AGAIN) this.#isOk = false;
    else for (const first of failed) await this.#runAgain(leg, first);
    this.took(leg.name, performance.now() - startedMs);
  }

  /** What else took its time. */
  took(name, ms) {
    this.#times.push([name, ms]);
  }

  /**
   * @param {string[]} leftOut what the run did not have, which counts as skipped
   * @returns whether all passed, those that were run again at the second try
   */
  close(leftOut = []) {
    this.#counts.skipped += leftOut.length;
    this.#load.close();
    if (process.env.TEST_TIMES) writeFileSync(process.env.TEST_TIMES, JSON.stringify(this.#files));
    const slowest = [...this.#files].sort((a, b) => b.ms - a.ms).slice(0, MAX_FILES_NAMED);
    const rows = [
      ...this.#times.map(([name, ms]) => `${seconds(ms)}  ${name}\n`),
      'the longest files:\n',
      ...slowest.map(({ file, ms, cpuMs }) => `${seconds(ms)}  ${file} (${(cpuMs / 1000).toFixed(1)} s of CPU time)\n`),
    ];
    const rest = leftOut.length > 0 ? `left out of this run: ${leftOut.join(', ')}\n` : '';
    process.stdout.write(`\n${rows.join('')}\n${rest}${this.#again.join('')}${closingLine(this.#counts)}`);
    return this.#isOk;
  }

  async #runFiles(
    { own, first = [], env, processes = DEFAULT_PROCESSES, timeoutMs = DEFAULT_TIMEOUT_MS, graceMs },
    files,
    onResult,
  ) {
    const jobs = files.map((file) => ({ file, path: this.#pathOf(file), isOwn: own?.includes(file) === true }));
    // Behind a file of its own process another one would have to start.
    jobs.sort((a, b) => Number(b.isOwn) - Number(a.isOwn) || first.includes(b.file) - first.includes(a.file));
    const pool = new Pool(jobs, {
      env: { ...env, RUN_SEED: this.#runSeed },
      timeoutMs,
      graceMs,
      onLine: (line) => {
        process.stdout.write(line.startsWith('\nFAILED') ? `${line}${this.#load}\n` : line);
      },
      onResult: (result) => {
        const { file, counts, ms } = result;
        process.stdout.write(`${counts.failed === 0 ? 'ok' : 'NOT OK'}  ${file}  ${Math.round(ms)} ms\n`);
        this.#files.push(result);
        this.#add(counts);
        onResult(result);
      },
    });
    await pool.run(processes);
  }

  /** A file that failed once counts by its second try. */
  async #runAgain(leg, first) {
    const startedMs = performance.now();
    if (this.#againMs < MAX_AGAIN_MS) {
      await this.#quiet();
      process.stdout.write(`\nonce more, alone: ${first.file} (${this.#load})\n`);
      let second;
      await this.#runFiles({ ...leg, processes: 1 }, [first.file], (result) => {
        second = result;
      });
      this.#add(first.counts, -1);
      const isPassed = second.counts.failed === 0;
      const ended = isPassed ? 'passed' : 'failed again';
      this.#again.push(`${first.file}: failed, then ${ended} alone (RUN_SEED=${this.#runSeed})\n`);
      this.#isOk &&= isPassed;
    } else {
      this.#again.push(`${first.file}: failed; no time was left to run it again (RUN_SEED=${this.#runSeed})\n`);
      this.#isOk = false;
    }
    this.#againMs += performance.now() - startedMs;
  }

  /** Waits until the machine has little to do; not for ever, since it may never have. */
  async #quiet() {
    const sinceMs = performance.now();
    do await new Promise((done) => setTimeout(done, Math.min(1000, this.#maxQuietWaitMs)));
    while (this.#load.busyShare > QUIET_SHARE && performance.now() - sinceMs < this.#maxQuietWaitMs);
  }

  #add(counts, times = 1) {
    for (const what of Object.keys(this.#counts)) this.#counts[what] += times * counts[what];
  }
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1).padStart(7)} s`;
}
