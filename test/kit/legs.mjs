/**
 * Runs the legs of a run one after the other, and prints one closing line. At the end, failed files run once more, each alone and with the same
 * random input, when the machine is quiet: if it was only too busy, they pass; a fault fails again. The first failure stays in the output, and a
 * line before the closing one names each file that needed a second try.
 */

import { writeFileSync } from 'node:fs';
import { closingLine } from './counts.mjs';
import { MachineLoad } from './machine-load.mjs';
import { Pool } from './pool.mjs';
import { Seeded } from './seeded.mjs';

/** Maximum in one leg: a busy machine does not cause more failures. */
const MAX_FILES_AGAIN = 5;
/** Maximum time for second tries in a run, including the wait for a quiet machine. */
const MAX_AGAIN_MS = 300_000;
const MAX_QUIET_WAIT_MS = 30_000;
const QUIET_SHARE = 0.5;
/** After this time of a run, no optional file begins. */
const MAX_EXTRA_MS = 600_000;
const MAX_FILES_NAMED = 10;
const MAX_FAILURE_CHARACTERS = 300;
const MAX_FAILURES_NAMED = 3;

/**
 * Tests of real programs mostly wait, so one more begins while the CPU is less busy than this. A starting process needs the CPU for a moment, so the
 * next one waits for that.
 */
const BUSY_SHARE = 0.7;
const START_MS = 1500;

/**
 * @typedef {{ name: string, files: string[], own?: string[], first?: string[], firstEvery?: number, extra?: string[],
 * env?: Record<string, string>, processes?: number, least?: number, timeoutMs?: number, graceMs?: number }} Leg
 *   `own`: files that need their own process; `first`: files that begin before others, or as every `firstEvery`th of all; `extra`: optional files
 *   with their own processes, which begin after all others if the run has not taken too long; `processes`: maximum at a time; `least`: minimum at a
 *   time even on a busy machine (default: `processes`); `timeoutMs` of a file; `graceMs` as in pool.mjs
 */

const DEFAULT_PROCESSES = 6;
const DEFAULT_TIMEOUT_MS = 300_000;

export class Legs {
  #load = new MachineLoad();
  #numbers;
  #counts = { passed: 0, failed: 0, skipped: 0 };
  #times = [];
  #files = [];
  #failed = [];
  #maxFilesAgain = 0;
  #again = [];
  #leftOut = [];
  #startedMs = performance.now();
  #isOk = true;
  #runSeed = process.env.RUN_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
  #pathOf;
  #maxQuietWaitMs;
  #maxExtraMs;

  /**
   * @param {(file: string) => string} pathOf path to load for a file
   * @param options `maxQuietWaitMs`: how long a failed file waits for a quiet machine; `maxExtraMs`: until when extra files may begin
   */
  constructor(pathOf, { maxQuietWaitMs = MAX_QUIET_WAIT_MS, maxExtraMs = MAX_EXTRA_MS } = {}) {
    this.#pathOf = pathOf;
    this.#maxQuietWaitMs = maxQuietWaitMs;
    this.#maxExtraMs = maxExtraMs;
    this.#numbers = new Seeded(Number(this.#runSeed));
  }

  /** @param {Leg[]} legs legs to run together, with the bounds of the first */
  async run(...legs) {
    const startedMs = performance.now();
    const jobs = legs.flatMap((leg) => leg.files.map((file) => this.#jobOf(leg, file)));
    this.#maxFilesAgain += MAX_FILES_AGAIN * legs.length;
    await this.#runJobs(legs[0], this.#numbers.shuffled(jobs), (result) => {
      if (result.counts.failed > 0) this.#failed.push({ ...result, leg: legs[0] });
    });
    this.took(legs.map(({ name }) => name).join(', '), performance.now() - startedMs);
  }

  #jobOf({ name, own, extra, env }, file) {
    const [isOwn, isExtra] = [own, extra].map((list) => list?.includes(file) === true);
    return { file, path: this.#pathOf(file), isOwn, isExtra, env, leg: name };
  }

  /** Records another step of the run for the summary. */
  took(name, ms) {
    this.#times.push([name, ms]);
  }

  /**
   * Runs failed files again, prints the run's result, returns whether all files passed, at the first or second try.
   * @param {string[]} leftOut parts that the run lacked, which count as skipped
   */
  async close(leftOut = []) {
    await this.#runFailedAgain();
    this.#counts.skipped += leftOut.length + this.#leftOut.length;
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
    const late = this.#leftOut.length > 0 ? `no time was left for: ${this.#leftOut.join(', ')}\n` : '';
    process.stdout.write(`\n${rows.join('')}\n${rest}${late}${this.#again.join('')}${closingLine(this.#counts)}`);
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
    // Own processes first, since a shared process would have to start again after each of them.
    inOrder.sort((a, b) => Number(b.isOwn) - Number(a.isOwn) || Number(a.isExtra) - Number(b.isExtra));
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
      mayBegin: ({ file, isExtra, leg }) => {
        const may = !isExtra || performance.now() - this.#startedMs < this.#maxExtraMs;
        if (!may) this.#leftOut.push(`${file} (${leg})`);
        return may;
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

  /** Shortest first, since a long file would leave no time for the others. */
  async #runFailedAgain() {
    if (this.#failed.length === 0) return;
    const startedMs = performance.now();
    // A file whose process left something open has passed in its time, and failed in none.
    const longestMs = ({ file }) => Math.max(...this.#files.filter((each) => each.file === file).map(({ ms }) => ms));
    this.#failed.sort((a, b) => longestMs(a) - longestMs(b));
    for (const first of this.#failed) {
      if (this.#failed.length > this.#maxFilesAgain) this.#nameFailed(first, 'failed');
      else if (performance.now() - startedMs > MAX_AGAIN_MS)
        this.#nameFailed(first, 'failed; no time was left to run it again');
      else if (await this.#passesAgain(first)) this.#nameFailed(first, 'failed, then passed alone', true);
      else this.#nameFailed(first, 'failed, then failed again alone');
    }
    this.took('what failed, once more', performance.now() - startedMs);
  }

  /** Runs a failed file again; its second result counts. */
  async #passesAgain({ file, job, leg, counts }) {
    await this.#quiet();
    process.stdout.write(`\nonce more, alone: ${file} (${this.#load})\n`);
    let second;
    await this.#runJobs({ ...leg, processes: 1 }, [{ ...job, isExtra: false }], (result) => {
      second = result;
    });
    this.#add(counts, -1);
    return second.counts.failed === 0;
  }

  /** Prints the file in the last lines, where readers look. */
  #nameFailed({ file, failures, job }, ended, isOk = false) {
    this.#isOk &&= isOk;
    const named = failures
      .slice(0, MAX_FAILURES_NAMED)
      .map((failure) => `  ${failure.slice(0, MAX_FAILURE_CHARACTERS)}\n`);
    this.#again.push(`${file}: ${ended} (${job.leg}; RUN_SEED=${this.#runSeed})\n${named.join('')}`);
  }

  /** Waits until the machine is nearly idle, for a limited time. */
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
