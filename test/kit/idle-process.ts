/** A process that does nothing but look at the clock: how late it is says how late any process is on this machine at that time. */

import { type ChildProcess, fork } from 'node:child_process';
import type { Test } from 'tap';

/** As often as the server's clock looks (src/base/clock.ts). */
const TICK_MS = 40;

/** Runs in the process. */
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

  /** How late it looked at the clock since the last call, milliseconds: so much or less in this share of looks. @param share 0 to 1 */
  lateMs(share: number): Promise<number> {
    return new Promise((resolve) => {
      this.#child.once('message', (ms) => resolve(ms as number));
      this.#child.send(share);
    });
  }
}
