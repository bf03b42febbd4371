/** A process that only reads the clock: its delay is the delay of any process on this machine at that time. */

import { type ChildProcess, fork } from 'node:child_process';
import type { Test } from 'tap';

/** The tick of the server's clock (src/base/clock.ts). */
const TICK_MS = 40;

/** The program of the process. */
const PROGRAM = `
const late = [];
let dueMs = performance.now() + ${TICK_MS};
setInterval(() => { late.push(Math.max(0, performance.now() - dueMs)); dueMs = performance.now() + ${TICK_MS}; }, ${TICK_MS});
process.on('message', (share) => {
  late.sort((a, b) => a - b);
  process.send(late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? 0);
  late.length = 0;
});`;

export class IdleProcess {
  readonly #child: ChildProcess;

  constructor(t: Test) {
    this.#child = fork('-e', [PROGRAM], { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' }, silent: true });
    t.teardown(() => this.#child.kill('SIGKILL'));
  }

  /** The quantile of its delays since the last call, milliseconds. @param share 0 to 1 */
  lateMs(share: number): Promise<number> {
    return new Promise((resolve) => {
      this.#child.once('message', (ms) => resolve(ms as number));
      this.#child.send(share);
    });
  }
}
