/**
 * Runs test files in a few processes that each take one file after the other (file-runner.mjs): a process that has the server loaded costs 2 s of CPU
 * time, its next file nothing. The next one goes to the process that is free. A process ends when a file failed in it: what that leaves behind harms
 * no other.
 */

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Counts } from './counts.mjs';

const RUNNER = fileURLToPath(new URL('file-runner.mjs', import.meta.url));
/** A file that has not ended so long behind its time-out is ended with its process. */
const DEFAULT_GRACE_MS = 15_000;
/** One that has not asked for its first file by then never will. */
const MAX_START_MS = 60_000;
/** For the time-outs that its files left (file-runner.mjs). */
const MAX_END_MS = 70_000;
const LOOK_AGAIN_MS = 200;

/**
 * @typedef {{ file: string, path: string, isOwn: boolean, env?: Record<string, string> }} Job
 *   `path`: of what is loaded. `isOwn`: in a process of its own, which has `env` besides
 * @typedef {{ passed: number, failed: number, skipped: number }} Counted
 * @typedef {{ file: string, counts: Counted, ms: number, cpuMs: number, job: Job, failures: string[] }} Result
 *   `failures`: the first line of each
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
   * @param {Job[]} jobs in their order
   * @param options `env` besides this process's, `timeoutMs` of one file; `mayStart(running)` whether one more process may start beside those;
   * `mayBegin(job)` whether a file of its own process, whose turn it is, still runs; `onLine` failures and skips, `onResult` each file that ended
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

  /** @param processes how many at a time, at most */
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

  /** A process, from its start to its end. */
  #runProcess() {
    /** @type {Job | undefined} */
    let first = this.#queue.shift();
    const child = fork(RUNNER, [], { env: { ...this.#env, ...first.env }, execArgv: [] });
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
    // Where it has ended meanwhile, `exit` says so.
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
      // Others are tap's own.
      else if (message.counts !== undefined) next(finish(message));
    });
    return new Promise((done) => {
      child.on('exit', (code, signal) => {
        clearTimeout(timer);
        const reason = `the process ended with ${signal ?? code}`;
        // One that cannot even start would be started for ever.
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
