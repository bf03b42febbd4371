/**
 * Runs test files in a few processes, each of which runs one file after the other (file-runner.mjs): loading the server costs 2 s of CPU time per
 * process, and nothing for its next file. The next file goes to a free process. A process ends after a failed file, so that its remains cannot harm
 * others.
 */

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Counts } from './counts.mjs';

const RUNNER = fileURLToPath(new URL('file-runner.mjs', import.meta.url));
/** After its time-out and this time, a file is ended together with its process. */
const DEFAULT_GRACE_MS = 15_000;
/** A process that has not asked for its first file by then never will. */
const MAX_START_MS = 60_000;
/** Covers the time-outs that its files left open (file-runner.mjs). */
const MAX_END_MS = 70_000;
const LOOK_AGAIN_MS = 200;

/** Ends what is left of a process group. */
function killGroup(id) {
  try {
    process.kill(-id, 'SIGKILL');
  } catch {
    // Nothing is left.
  }
}

/**
 * @typedef {{ file: string, path: string, isOwn: boolean, env?: Record<string, string> }} Job
 *   `path`: the file to load. `isOwn`: it needs its own process, with `env` added
 * @typedef {{ passed: number, failed: number, skipped: number }} Counted
 * @typedef {{ file: string, counts: Counted, ms: number, cpuMs: number, job: Job, failures: string[] }} Result
 *   `failures`: the first line of each failure
 */

export class Pool {
  #queue;
  #env;
  #timeoutMs;
  #graceMs;
  #mayStart;
  #mayBegin;
  #onResult;
  #onLine;
  #running = 0;

  /**
   * @param {Job[]} jobs in order @param options `env`: added; `timeoutMs`: of one file; `mayStart(running)`: whether one more process may start;
   * `mayBegin(job)`: whether a file with its own process should still run; `onLine`: failures and skips; `onResult`: each ended file
   */
  constructor(
    jobs,
    { env, timeoutMs, graceMs = DEFAULT_GRACE_MS, mayStart = () => true, mayBegin = () => true, onResult, onLine },
  ) {
    this.#queue = [...jobs];
    this.#env = { ...process.env, ...env, TAP_TIMEOUT: '0' };
    this.#timeoutMs = timeoutMs;
    this.#graceMs = graceMs;
    this.#mayStart = mayStart;
    this.#mayBegin = mayBegin;
    this.#onResult = onResult;
    this.#onLine = onLine;
  }

  /** @param processes maximum at a time */
  async run(processes) {
    await Promise.all(Array.from({ length: processes }, () => this.#runLane()));
  }

  async #runLane() {
    while (this.#queue.length > 0) {
      if (!this.#mayBegin(this.#queue[0])) this.#queue.shift();
      else if (this.#mayStart(this.#running)) {
        this.#running++;
        await this.#runProcess();
        this.#running--;
      } else await new Promise((done) => setTimeout(done, LOOK_AGAIN_MS));
    }
  }

  /** Runs a process, from its start to its end. */
  #runProcess() {
    /** @type {Job | undefined} */
    let first = this.#queue.shift();
    // Leads a process group, so that what its files start ends with it, also where it is killed before their teardowns.
    const child = fork(RUNNER, [], { env: { ...this.#env, ...first.env }, execArgv: [], detached: true });
    const ran = [];
    /** @type {Job | undefined} */
    let current;
    /** @type {string[]} */
    let failures = [];
    let hasFailed = false;
    let startedMs = 0;
    const kill = () => child.kill('SIGKILL');
    let timer = setTimeout(kill, MAX_START_MS);
    const next = (mayGoOn) => {
      clearTimeout(timer);
      const isOwn = this.#queue[0]?.isOwn === true;
      current = first ?? (mayGoOn && !isOwn ? this.#queue.shift() : undefined);
      first = undefined;
      timer = setTimeout(kill, this.#graceMs + (current === undefined ? MAX_END_MS : this.#timeoutMs));
      if (current === undefined) return give(null);
      startedMs = performance.now();
      give({ ...current, timeoutMs: this.#timeoutMs });
    };
    // If it has ended meanwhile, `exit` reports that.
    const give = (order) => void child.send(order, () => {});
    const finish = (result) => {
      const job = current;
      if (result.counts.failed > 0 && ran.length > 0)
        this.#onLine(`in its process before: ${ran.map(({ file }) => file).join(' ')}\n`);
      ran.push(job);
      hasFailed ||= result.counts.failed > 0;
      current = undefined;
      this.#onResult({ ...result, job, failures });
      failures = [];
      return !hasFailed && !job.isOwn;
    };
    child.on('message', (message) => {
      if (message.isReady) next(true);
      else if (message.line !== undefined) {
        const [, failure] = /^\nFAILED: (.*)/.exec(message.line) ?? [];
        if (failure !== undefined) failures.push(failure);
        this.#onLine(message.line);
      }
      // Other messages are tap's.
      else if (message.counts !== undefined) next(finish(message));
    });
    return new Promise((done) => {
      child.on('exit', (code, signal) => {
        clearTimeout(timer);
        killGroup(child.pid);
        const reason = `the process ended with ${signal ?? code}`;
        // A job whose process cannot start must not be retried forever.
        current ??= first;
        if (current !== undefined) finish(this.#failed(current.file, reason, performance.now() - startedMs));
        else if (code !== 0 && !hasFailed) {
          const result = this.#failed(ran.at(-1).file, reason, 0);
          this.#onResult({ ...result, job: ran.at(-1), failures: [reason] });
        }
        done();
      });
    });
  }

  #failed(file, reason, ms) {
    const counts = new Counts(this.#onLine);
    counts.fail([file], reason);
    return { file, counts: counts.all, ms, cpuMs: 0 };
  }
}
