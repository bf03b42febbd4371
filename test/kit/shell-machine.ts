/**
 * An isolated network, processes and a home for a test (Linux namespaces), in which it types lines as a person does: every port is free, so none
 * needs to be replaced, and the outside cannot be reached. The files are this system's. Everything started there ends with the test.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { childrenOf } from './process-sockets.js';
import { missing } from './program.js';
import { patient, until } from './until.js';

const isRoot = process.getuid?.() === 0;
const NAMESPACES = [...(isRoot ? [] : ['-r']), '--net', '--pid', '--mount', '--fork', '--kill-child', '--mount-proc'];
const ENTER = [...(isRoot ? [] : ['-U', '--preserve-credentials']), '-n', '-p', '-m'];

export interface Typed {
  readonly code: number;
  /** The end of both its outputs. */
  readonly said: string;
}

/** `skip` of a test that needs such a machine: false, or why there is none. */
export function withoutShellMachine(): string | false {
  const gone = missing('unshare', 'nsenter', 'setsid', 'timeout', 'ip', 'bash', 'npx');
  if (gone !== false) return gone;
  const { status } = spawnSync('unshare', [...NAMESPACES, 'ip', 'link', 'set', 'lo', 'up']);
  return status !== 0 && 'a network of its own cannot be had here';
}

export class ShellMachine {
  readonly #t: Test;
  readonly #first: number;
  /** The working folder. */
  readonly folder: string;
  readonly home: string;
  /** A person's environment, without the test runner's variables; `airsplice` is installed as npm does it. */
  readonly env: NodeJS.ProcessEnv;
  #typed = 0;

  private constructor(t: Test, first: number, folder: string, home: string) {
    this.#t = t;
    this.#first = first;
    this.folder = folder;
    this.home = home;
    const bin = join(home, 'bin');
    mkdirSync(bin, { recursive: true });
    symlinkSync(join(folder, 'dist/main.js'), join(bin, 'airsplice'));
    const own = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$|PORT$|INIT_CWD$)/i.test(name));
    const others = {
      HOME: home,
      NO_COLOR: '1',
      SDL_AUDIODRIVER: 'dummy',
      LANG: 'C.UTF-8',
      npm_config_update_notifier: 'false',
    };
    this.env = { ...Object.fromEntries(own), ...others, PATH: `${bin}:${process.env['PATH']}` };
  }

  /** @param folder a built clone @param home is made */
  static async boot(t: Test, folder: string, home: string): Promise<ShellMachine> {
    const holder = spawn('unshare', [...NAMESPACES, 'sh', '-c', 'ip link set lo up && echo up && exec sleep 1800']);
    t.teardown(() => holder.kill('SIGKILL'));
    const said = saidBy(holder);
    await until(() => said() === 'up\n', 10_000, said);
    return new ShellMachine(t, childrenOf(holder.pid!)[0]!, folder, home);
  }

  /** Runs a line that ends by itself; after `seconds` it is ended, with code 124. @param input typed into it */
  async type(line: string, seconds = 60, input: string | false = ''): Promise<Typed> {
    const limit = patient(seconds * 1000) / 1000;
    const child = this.#spawn(['timeout', '-k', '2', String(limit), 'bash', '-c', line], input);
    const said = saidBy(child);
    const code = await new Promise<number>((done) => child.on('close', (code) => done(code ?? -1)));
    return { code, said: said() };
  }

  /** Starts a line that runs until `interrupt` or the end of the test. */
  start(line: string): Running {
    const file = join(this.home, `.typed-${++this.#typed}`);
    // In its own process group, as in a terminal.
    const child = this.#spawn(['setsid', '--wait', 'bash', '-c', `echo $$ > '${file}'\n${line}`]);
    this.#t.teardown(() => child.kill('SIGKILL'));
    const said = saidBy(child);
    const running: Running = {
      said,
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
      interrupt: async () => {
        await this.type(`kill -INT -- -$(cat '${file}') 2>/dev/null || true`);
        await until(running.hasEnded, 20_000, () => `Ctrl-C does not end ${line}: ${said()}`);
      },
    };
    return running;
  }

  #spawn(words: readonly string[], input: string | false = ''): ChildProcess {
    const child = spawn('nsenter', ['-t', `${this.#first}`, ...ENTER, 'env', '-C', this.folder, ...words], {
      env: this.env,
    });
    child.stdin.on('error', () => undefined).end(input || '');
    return child;
  }
}

export interface Running {
  readonly said: () => string;
  readonly hasEnded: () => boolean;
  /** Ctrl-C. */
  readonly interrupt: () => Promise<void>;
}

function saidBy(child: ChildProcess): () => string {
  let said = '';
  for (const out of [child.stdout!, child.stderr!]) {
    out.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-40_000);
    });
  }
  return () => said;
}
