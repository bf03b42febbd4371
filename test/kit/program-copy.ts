/** What is installed, in a folder where a test can change it: what a restart, or the death of a process, then starts. Needs the build. */

import { execFile } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { tempFolder } from './server.js';

const ROOT = new URL('../..', import.meta.url).pathname;

export class ProgramCopy {
  readonly #folder: string;
  /** As Machine has it. */
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

  /** Another file. @param file below dist */
  write(file: string, text: string): void {
    writeFileSync(join(this.#folder, 'dist', file), text);
  }

  /** The next version of a constant. @param file below dist */
  raise(file: string, constant: string): void {
    const text = readFileSync(join(ROOT, 'dist', file), 'utf8');
    const raised = text.replace(
      new RegExp(`(${constant} = )(\\d+)`),
      (_, name, value) => `${name}${Number(value) + 1}`,
    );
    if (raised === text) throw new Error(`${file} has no ${constant}`);
    this.write(file, raised);
  }

  /** A module that takes so long to load. @param file below dist */
  delay(file: string, ms: number): void {
    const text = readFileSync(join(ROOT, 'dist', file), 'utf8');
    this.write(file, `await new Promise((done) => setTimeout(done, ${ms}));\n${text}`);
  }

  /** As it was built. */
  mend(file: string): void {
    this.write(file, readFileSync(join(ROOT, 'dist', file), 'utf8'));
  }

  /** `airsplice restart`. */
  restart(config: string): Promise<{ code: number; said: string }> {
    return promisify(execFile)(process.execPath, [this.#main, 'restart', config]).then(
      ({ stdout }) => ({ code: 0, said: stdout }),
      ({ code, stderr }) => ({ code, said: stderr as string }),
    );
  }
}
