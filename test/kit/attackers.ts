/** The attackers in a separate process (test/attacks/main.ts). */

import { type ChildProcess, fork } from 'node:child_process';
import { setPriority } from 'node:os';
import type { Test } from 'tap';
import type { AttackName } from '../attacks/index.js';
import type { Order, Outcome } from '../attacks/main.js';
import { TYPESCRIPT } from './process.js';

const MAIN = new URL('../attacks/main.ts', import.meta.url).pathname;
const NICE = 10;

export class Attackers {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (outcome: Outcome) => void>();
  #next = 0;

  /** @param port the arena's first port */
  constructor(t: Test, port: number) {
    this.#child = fork(MAIN, [String(port)], {
      execArgv: TYPESCRIPT,
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    // Low priority: the server and the clients that measure come first.
    setPriority(this.#child.pid!, NICE);
    this.#child.on('message', (outcome: Outcome) => {
      this.#waiting.get(outcome.id)?.(outcome);
      this.#waiting.delete(outcome.id);
    });
    t.teardown(() => this.#child.kill('SIGKILL'));
  }

  /** Runs attacks together for `ms` milliseconds. Resolves with the server's faults that they found; '': none. */
  async play(names: readonly AttackName[], seed: number, ms: number): Promise<string> {
    const id = this.#next++;
    const over = new Promise<Outcome>((done) => this.#waiting.set(id, done));
    this.#child.send({ id, names, seed, ms } satisfies Order);
    return (await over).finding;
  }
}
