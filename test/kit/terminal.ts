/** Runs a command in a terminal of a given size, by util-linux' `script`: its last picture, and the text that it leaves. */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Test } from 'tap';
import { PROGRAM } from './process.js';
import { until } from './until.js';

const OTHER_SCREEN = '\u001b[?1049h';
const OWN_SCREEN = '\u001b[?1049l';
const HOME = '\u001b[H';

export class TerminalProgram {
  readonly #child: ChildProcess;
  /** Its output, including pictures. */
  said = '';
  /** Its exit code, once it has ended. */
  ended: number | null = null;

  constructor(t: Test, columns: number, rows: number, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const words = [process.execPath, ...PROGRAM, ...args].map((word) => `'${word}'`).join(' ');
    const command = `stty cols ${columns} rows ${rows}; exec ${words}`;
    const own = { ...process.env, NODE_OPTIONS: '', NO_COLOR: '', TERM: 'xterm', ...env };
    this.#child = spawn('script', ['-qefc', command, '/dev/null'], { env: own, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.said += text;
    });
    this.#child.on('close', (code) => {
      this.ended = code ?? -1;
    });
    t.teardown(() => this.#child.kill('SIGKILL'));
  }

  /** Lines of the last whole picture, without colours. */
  get picture(): readonly string[] {
    const [live = ''] = this.said.split(OWN_SCREEN);
    const last = live.split(HOME).at(-1)!;
    return bare(last).split(/\r+\n/);
  }

  /** The text after the pictures, once it has ended. */
  get behind(): string {
    return bare(this.said.split(OWN_SCREEN)[1] ?? '').replaceAll('\r', '');
  }

  get isLive(): boolean {
    return this.said.includes(OTHER_SCREEN);
  }

  async until(ready: () => boolean, what: string): Promise<void> {
    await until(ready, 30_000, () => `${what}: ${this.said.slice(-2000)}`);
  }

  /** Ctrl-C. @returns its exit code */
  async interrupt(): Promise<number | null> {
    this.#child.stdin!.write('\u0003');
    await this.until(() => this.ended !== null, 'it does not end');
    return this.ended;
  }
}

function bare(text: string): string {
  return text.replace(/\u001b\[[?\d;]*[a-zA-Z]/g, '');
}
