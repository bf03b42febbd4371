/** A copy of the installed program, which a test can change before a restart or the death of a process. Needs the build. */

import { execFile } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { tempFolder } from './temp-folder.js';

const ROOT = new URL('../..', import.meta.url).pathname;

export class ProgramCopy {
  readonly #folder: string;
  /** As in Machine. */
  readonly launcher: readonly string[];

  constructor(t: Test) {
    this.#folder = tempFolder(t);
    for (const part of ['dist', 'config', 'package.json']) {
      cpSync(join(ROOT, part), join(this.#folder, part), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(this.#folder, 'node_modules'));
    const script = `for last; do :; done; exec ${process.execPath} ${this.#main} "$last"`;
    this.launcher = ['sh', '-c', script, 'sh'];
  }

  get #main(): string {
    return join(this.#folder, 'dist/main.js');
  }

  /** Increments a constant in the built code, wherever it is. */
  raise(constant: string): void {
    const declared = new RegExp(`(\\b${constant} = )(\\d+)`);
    const found = this.#chunks().filter((file) => declared.test(this.#built(file)));
    const [file] = found;
    if (file === undefined || found.length > 1) throw new Error(`${constant} stands in ${found.length} files of dist`);
    this.#write(
      file,
      this.#built(file).replace(declared, (_, name, value) => `${name}${Number(value) + 1}`),
    );
  }

  /** Makes workers load slowly. */
  delayWorkers(ms: number): void {
    this.#beforeWorkers(`await new Promise((done) => setTimeout(done, ${ms}));`);
  }

  /** Makes workers fail to start. */
  breakWorkers(): void {
    this.#beforeWorkers("throw new Error('this is no program');");
  }

  /** Restores the built state. */
  mend(): void {
    cpSync(join(ROOT, 'dist'), join(this.#folder, 'dist'), { recursive: true });
  }

  #beforeWorkers(code: string): void {
    const [interpreter, ...lines] = this.#built('main.js').split('\n');
    this.#write(
      'main.js',
      [interpreter, `if (process.env.AIRSPLICE_PROCESS === 'worker') {${code}}`, ...lines].join('\n'),
    );
  }

  #chunks(): string[] {
    return readdirSync(join(ROOT, 'dist/chunks'))
      .filter((name) => name.endsWith('.js'))
      .map((name) => `chunks/${name}`);
  }

  /** @param file below dist */
  #built(file: string): string {
    return readFileSync(join(ROOT, 'dist', file), 'utf8');
  }

  #write(file: string, text: string): void {
    writeFileSync(join(this.#folder, 'dist', file), text);
  }

  /** Runs `airsplice restart`. */
  restart(config: string): Promise<{ code: number; said: string }> {
    return promisify(execFile)(process.execPath, [this.#main, 'restart', config]).then(
      ({ stdout }) => ({ code: 0, said: stdout }),
      ({ code, stderr }) => ({ code, said: stderr as string }),
    );
  }
}
