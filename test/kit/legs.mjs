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
const MAX_FAILURE_CHARACTERS = 300;
const MAX_FAILURES_NAMED = 3;

/**
 * Most tests of real programs wait for most of their time: one more begins while the processors have time left, none while they have not. A process
 * that starts needs them for a moment, so the next one waits for that.
 */
const BUSY_SHARE = 0.7;
const START_MS = 1500;

/**
 * @typedef {{ name: string, files: string[], own?: string[], first?: string[], firstEvery?: number, env?: Record<string, string>,
 * processes?: number, least?: number, timeoutMs?: number, graceMs?: number }} Leg
 *   `own`: files that have a process of their own; `first`: those that begin before others, or are every `firstEvery`th of all; `processes` at a
 *   time at most, `least` however busy the machine is (as many, where it is not given); `timeoutMs` of a file, `graceMs` as in pool.mjs
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

  /** @param {Leg[]} legs whose files run among each other, under the bounds of the first */
  async run(...legs) {
    const startedMs = performance.now();
    const jobs = legs.flatMap(({ name, files, own, env }) =>
      files.map((file) => ({ file, path: this.#pathOf(file), isOwn: own?.includes(file) === true, env, leg: name })),
    );
    const failed = [];
    await this.#runJobs(legs[0], this.#numbers.shuffled(jobs), (result) => {
      if (result.counts.failed > 0) failed.push(result);
    });
    // What takes long leaves no time for the others.
    failed.sort((a, b) => a.ms - b.ms);
    if (failed.length > MAX_FILES_AGAIN * legs.length) {
      this.#isOk = false;
      for (const result of failed) this.#nameFailed(result, 'failed');
    } else for (const first of failed) await this.#runAgain(legs[0], first);
    this.took(legs.map(({ name }) => name).join(', '), performance.now() - startedMs);
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
      ...slowest.map(
        ({ file, leg, ms, cpuMs }) => `${seconds(ms)}  ${file} (${leg}; ${(cpuMs / 1000).toFixed(1)} s of CPU time)\n`,
      ),
    ];
    const rest = leftOut.length > 0 ? `left out of this run: ${leftOut.join(', ')}\n` : '';
    process.stdout.write(`\n${rows.join('')}\n${rest}${this.#again.join('')}${closingLine(this.#counts)}`);
    return this.#isOk;
  }

  async #runJobs(
    {
      first = [],
      firstEvery = 1,
      processes = DEFAULT_PROCESSES,
      least = processes,
      timeoutMs = DEFAULT_TIMEOUT_MS,
      graceMs,
    },
    jobs,
    onResult,
  ) {
    const [longest, others] = [true, false].map((isFirst) =>
      jobs.filter(({ file }) => first.includes(file) === isFirst),
    );
    const inOrder = longest.flatMap((job) => [job, ...others.splice(0, firstEvery - 1)]).concat(others);
    // Behind a file of its own process another one would have to start.
    inOrder.sort((a, b) => Number(b.isOwn) - Number(a.isOwn));
    let startedMs = Number.NEGATIVE_INFINITY;
    const pool = new Pool(inOrder, {
      env: { RUN_SEED: this.#runSeed },
      timeoutMs,
      graceMs,
      mayStart: (running) => {
        const nowMs = performance.now();
        const hasTime = nowMs > startedMs + START_MS && this.#load.busyShareOver(START_MS) < BUSY_SHARE;
        if (running >= least && !hasTime) return false;
        startedMs = nowMs;
        return true;
      },
      onLine: (line) => {
        process.stdout.write(line.startsWith('\nFAILED') ? `${line}${this.#load}\n` : line);
      },
      onResult: (result) => {
        const { file, counts, ms, job } = result;
        const isOk = counts.failed === 0;
        process.stdout.write(`${isOk ? 'ok' : 'NOT OK'}  ${file}  ${Math.round(ms)} ms  (${job.leg})\n`);
        this.#files.push({ file, leg: job.leg, counts, ms, cpuMs: result.cpuMs });
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
      await this.#runJobs({ ...leg, processes: 1 }, [first.job], (result) => {
        second = result;
      });
      this.#add(first.counts, -1);
      const isPassed = second.counts.failed === 0;
      this.#nameFailed(first, `failed, then ${isPassed ? 'passed' : 'failed again'} alone`);
      this.#isOk &&= isPassed;
    } else {
      this.#nameFailed(first, 'failed; no time was left to run it again');
      this.#isOk = false;
    }
    this.#againMs += performance.now() - startedMs;
  }

  /** In the last lines, where it is read. */
  #nameFailed({ file, failures, job }, ended) {
    const named = failures
      .slice(0, MAX_FAILURES_NAMED)
      .map((failure) => `  ${failure.slice(0, MAX_FAILURE_CHARACTERS)}\n`);
    this.#again.push(`${file}: ${ended} (${job.leg}; RUN_SEED=${this.#runSeed})\n${named.join('')}`);
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
