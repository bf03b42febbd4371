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

/**
 * @typedef {{ file: string, path: string, isOwn: boolean }} Job `path`: of what is loaded. `isOwn`: in a process of its own
 * @typedef {{ file: string, counts: { passed: number, failed: number, skipped: number }, ms: number, cpuMs: number }} Result
 */

export class Pool {
  #queue;
  #env;
  #timeoutMs;
  #graceMs;
  #onResult;
  #onLine;

  /**
   * @param {Job[]} jobs in their order
   * @param options `env` besides this process's, `timeoutMs` of one file; `onLine` failures and skips, `onResult` each file that ended
   */
  constructor(jobs, { env, timeoutMs, graceMs = DEFAULT_GRACE_MS, onResult, onLine }) {
    this.#queue = [...jobs];
    this.#env = { ...process.env, ...env, TAP_TIMEOUT: '0' };
    this.#timeoutMs = timeoutMs;
    this.#graceMs = graceMs;
    this.#onResult = onResult;
    this.#onLine = onLine;
  }

  /** @param processes how many at a time */
  async run(processes) {
    await Promise.all(Array.from({ length: processes }, () => this.#runLane()));
  }

  async #runLane() {
    while (this.#queue.length > 0) await this.#runProcess();
  }

  /** A process, from its start to its end. */
  #runProcess() {
    const child = fork(RUNNER, [], { env: this.#env, execArgv: [] });
    const ran = [];
    /** @type {Job | undefined} */
    let current;
    let hasFailed = false;
    let startedMs = 0;
    const kill = () => child.kill('SIGKILL');
    let timer = setTimeout(kill, MAX_START_MS);
    const next = (mayGoOn) => {
      clearTimeout(timer);
      const isOwn = this.#queue[0]?.isOwn === true;
      current = mayGoOn && (ran.length === 0 || !isOwn) ? this.#queue.shift() : undefined;
      timer = setTimeout(kill, this.#graceMs + (current === undefined ? MAX_END_MS : this.#timeoutMs));
      if (current === undefined) return give(null);
      startedMs = performance.now();
      give({ ...current, timeoutMs: this.#timeoutMs });
    };
    // Where it has ended meanwhile, `exit` says so.
    const give = (order) => void child.send(order, () => {});
    const finish = (result) => {
      if (result.counts.failed > 0 && ran.length > 0) this.#onLine(`in its process before: ${ran.join(' ')}\n`);
      ran.push(result.file);
      hasFailed ||= result.counts.failed > 0;
      const { isOwn } = current;
      current = undefined;
      this.#onResult(result);
      return !hasFailed && !isOwn;
    };
    child.on('message', (message) => {
      if (message.isReady) next(true);
      else if (message.line !== undefined) this.#onLine(message.line);
      // Others are tap's own.
      else if (message.counts !== undefined) next(finish(message));
    });
    return new Promise((done) => {
      child.on('exit', (code, signal) => {
        clearTimeout(timer);
        const reason = `the process ended with ${signal ?? code}`;
        // One that cannot even start would be started for ever.
        if (ran.length === 0) current ??= this.#queue.shift();
        if (current !== undefined) this.#fail(current.file, reason, performance.now() - startedMs, finish);
        else if (code !== 0 && !hasFailed && ran.length > 0) this.#fail(ran.at(-1), reason, 0, this.#onResult);
        done();
      });
    });
  }

  #fail(file, reason, ms, finish) {
    const counts = new Counts(this.#onLine);
    counts.fail([file], reason);
    finish({ file, counts: counts.all, ms, cpuMs: 0 });
  }
}
