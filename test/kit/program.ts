/**
 * Programs of other projects: encoders, each fed and configured by its test. A program's output is kept for failures; it ends with its test at the
 * latest. A test whose program is not installed is skipped, with the reason.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { until } from './until.js';

/** `skip` of a test that needs these programs: false if all are installed, else the reason. */
export function missing(...commands: string[]): string | false {
  const gone = commands.filter((command) => !isInstalled(command));
  return gone.length > 0 && `not installed: ${gone.join(', ')}`;
}

function isInstalled(command: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export class Program {
  readonly child: ChildProcess;
  readonly #command: string;
  /** The end of both its outputs. */
  said = '';
  /** Exit code or signal, once it has ended. */
  ended: number | string | undefined;

  /** @param isTyped its input is what the test writes to `stdin` */
  constructor(t: Test, command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}, isTyped = false) {
    this.#command = command;
    this.child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: [isTyped ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    const keep = (chunk: Buffer) => {
      this.said = (this.said + chunk.toString()).slice(-4000);
    };
    this.child.stdout!.on('data', keep);
    this.child.stderr!.on('data', keep);
    this.child.on('error', (error) => {
      this.ended = error.message;
    });
    this.child.on('exit', (code, signal) => {
      this.ended = code ?? signal ?? 'unknown';
    });
    t.teardown(() => this.child.kill('SIGKILL'));
  }

  /** Waits until `ready` returns true; fails with the program's output if it ends before that, or after `ms`. */
  async until(ready: () => boolean | Promise<boolean>, ms: number, what: string): Promise<void> {
    const describe = () => `${this.#command}, ${what}: ${this.said}`;
    const readyOrOver = async () => {
      if (await ready()) return true;
      if (this.ended !== undefined) throw new Error(`ended with ${this.ended}. ${describe()}`);
      return false;
    };
    await until(readyOrOver, ms, describe);
  }

  /** Stops it as an operator does: the program may clean up. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.child.kill(signal);
    await until(
      () => this.ended !== undefined,
      10_000,
      () => `${this.#command} does not end: ${this.said}`,
    );
  }
}

/** The result of ffprobe, an independent reader, for a stream. */
export async function probe(url: string): Promise<{ codec: string; bitrate: string; title: string }> {
  const show = 'format_tags:stream=codec_name,bit_rate';
  const args = ['-v', 'error', '-show_entries', show, '-of', 'json', url];
  const { stdout } = await promisify(execFile)('ffprobe', args, { timeout: 15_000 });
  const found = JSON.parse(stdout);
  return {
    codec: found.streams[0].codec_name,
    bitrate: found.streams[0].bit_rate,
    title: found.format.tags?.StreamTitle ?? '',
  };
}
