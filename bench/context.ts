/**
 * The input of a scenario: targets, peers, durations, and temporary folders. Scenarios start and stop their servers; remaining ones are stopped
 * after a scenario. Owned by bench/run.ts.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startAirsplice } from './airsplice.js';
import type { Options } from './arguments.js';
import type { Result } from './result.js';

/** A configuration of airsplice to measure: the Node version, and the workers, if any. */
export interface Subject {
  readonly name: string;
  /** Path of the Node program. */
  readonly node: string;
  readonly workers?: number;
}

export interface Scenario {
  readonly name: string;
  readonly summary: string;
  /** Approximate duration with one Node and the usual options. */
  readonly minutes: number;
  /** Whether it can measure any stream server by URL. */
  readonly takesUrl: boolean;
  run(context: Context): Promise<Result>;
}

export class Context {
  readonly options: Options;
  /** A subject for each requested Node; none if a URL was given. */
  readonly subjects: readonly Subject[];
  readonly #folder: string;
  #folders = 0;
  #knowsWorkers: Promise<boolean> | undefined;

  constructor(options: Options, subjects: readonly Subject[], folder: string) {
    this.options = options;
    this.subjects = subjects;
    this.#folder = folder;
  }

  get isQuick(): boolean {
    return this.options.isQuick;
  }

  get rounds(): readonly number[] {
    return Array.from({ length: this.options.rounds }, (_, index) => index + 1);
  }

  /** The usual value, or that of a quick run. */
  either<T>(usual: T, quick: T): T {
    return this.isQuick ? quick : usual;
  }

  /** Length of a window, seconds. */
  seconds(usual: number): number {
    return this.options.seconds ?? this.either(usual, 2);
  }

  /** Seconds between the last arrival and the window: for the burst, the extra audio of listeners in a crowd 10 s later, and their next turn. */
  get warmSeconds(): number {
    return this.either(16, 2);
  }

  /** A new folder. */
  folder(): string {
    const made = join(this.#folder, String(++this.#folders));
    mkdirSync(made);
    return made;
  }

  say(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  /** Whether a peer is wanted; without --against all are. */
  hasPeer(name: string): boolean {
    return this.options.against?.includes(name) ?? true;
  }

  /** Whether this version knows workers: a server that does not know the option refuses to start and names it. */
  knowsWorkers(): Promise<boolean> {
    this.#knowsWorkers ??= (async () => {
      try {
        const subject = { ...this.subjects[0]!, workers: 2 };
        const { server } = await startAirsplice(subject, { folder: this.folder(), silent: ['trial'] });
        await server.stop();
        return true;
      } catch (error) {
        if ((error as Error).message.includes('workers')) return false;
        throw error;
      }
    })();
    return this.#knowsWorkers;
  }

  /** The subjects, and again the first one with workers, if this version knows them. */
  async subjectsWithWorkers(): Promise<readonly Subject[]> {
    const [first] = this.subjects;
    if (first === undefined || !(await this.knowsWorkers())) return this.subjects;
    return [...this.subjects, { ...first, name: `${first.name}, 2 workers`, workers: 2 }];
  }
}
