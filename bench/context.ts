/**
 * What a scenario is given: what to measure, beside what, how long, and folders of its own. Scenarios start their servers and stop them; what one
 * leaves is ended after it. Owned by bench/run.ts.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startAirsplice } from './airsplice.js';
import type { Options } from './arguments.js';
import type { Result } from './result.js';

/** One airsplice: with this Node, and as one process where there are no workers. */
export interface Subject {
  readonly name: string;
  /** Path of the program. */
  readonly node: string;
  readonly workers?: number;
}

export interface Scenario {
  readonly name: string;
  readonly summary: string;
  /** About how long it takes with one Node and the usual options. */
  readonly minutes: number;
  /** It can measure any stream server by URL. */
  readonly takesUrl: boolean;
  run(context: Context): Promise<Result>;
}

export class Context {
  readonly options: Options;
  /** A target for each Node that was asked for; none where a URL was. */
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

  /** The usual figure, or that of a quick run. */
  either<T>(usual: T, quick: T): T {
    return this.isQuick ? quick : usual;
  }

  /** Seconds of a window. */
  seconds(usual: number): number {
    return this.options.seconds ?? this.either(usual, 2);
  }

  /** Seconds between the last arrival and the window: the burst, what a crowd's listener gets beside it 10 s later, and its next turn. */
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

  /** Whether a peer by name was asked for; without --against all are. */
  hasPeer(name: string): boolean {
    return this.options.against?.includes(name) ?? true;
  }

  /** Asks the server itself: one that does not know the option refuses to start and names it. */
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

  /** The subjects, and with workers the first of them once more, where this version knows them. */
  async subjectsWithWorkers(): Promise<readonly Subject[]> {
    const [first] = this.subjects;
    if (first === undefined || !(await this.knowsWorkers())) return this.subjects;
    return [...this.subjects, { ...first, name: `${first.name}, 2 workers`, workers: 2 }];
  }
}
