/** A link between a player and a server that can stall or be slow (link.py). bench/process.ts stops it at the end. Needs `python3`. */

import { freePort, Started } from '../process.js';
import { path } from '../target.js';

export class Link {
  readonly port: number;
  readonly #program: Started;

  private constructor(port: number, program: Started) {
    this.port = port;
    this.#program = program;
  }

  /** Resolves when it accepts connections. @param kbits per second towards the player; undefined: no limit */
  static async start(serverPort: number, kbits: number | undefined): Promise<Link> {
    const port = await freePort();
    const rate = kbits === undefined ? [] : [String(kbits)];
    const program = new Started('python3', [path('truth/link.py'), String(port), String(serverPort), ...rate]);
    const ready = new Promise((resolve) => program.stdout.once('data', resolve));
    await Promise.race([
      ready,
      program.ended.then(() => {
        throw program.failure('it ended');
      }),
    ]);
    return new Link(port, program);
  }

  stall(): void {
    process.kill(this.#program.pid, 'SIGUSR1');
  }

  go(): void {
    process.kill(this.#program.pid, 'SIGUSR2');
  }

  stop(): Promise<void> {
    return this.#program.stop();
  }
}
