/** The server as a separate process, as an operator starts it, for signals, crashes and exit codes. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import net from 'node:net';
import type { Test } from 'tap';
import { patient, until } from './until.js';

const SOURCES = new URL('../../src/', import.meta.url).pathname;
const BUILT = new URL('../../dist/main.js', import.meta.url).pathname;

/** Arguments for Node to run TypeScript. */
export const TYPESCRIPT = ['--import', new URL('typescript.mjs', import.meta.url).href];

/** The build of `npm test`, if no source is newer, since it starts in half the time; else the sources. */
function program(): string[] {
  const all = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' });
  const files = all.filter((file) => !file.endsWith('.md'));
  const newestMs = Math.max(...files.map((file) => statSync(SOURCES + file).mtimeMs));
  const builtMs = statSync(BUILT, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return builtMs > newestMs ? [BUILT] : [...TYPESCRIPT, `${SOURCES}main.ts`];
}
/** Arguments for Node to run the server. */
export const PROGRAM: readonly string[] = program();

const FIRST_PORT = 10_100;
const PAIRS = 10_000;
/** Next pair of ports. Each process starts at another pair, so that no port is given twice, not even to two test files at once. */
let nextPair = (process.pid * 97) % PAIRS;

/**
 * A loopback port that was free a moment ago, as was the next one, which is for SHOUTcast encoders. Below the system's ports for outgoing
 * connections, which could take it, and above 10080, which fetch refuses.
 */
export function freePort(): Promise<number> {
  return freePorts(2);
}

/** The first of `count` loopback ports in a row that were free a moment ago. */
export async function freePorts(count: number): Promise<number> {
  const pairs = Math.ceil(count / 2);
  for (;;) {
    if (nextPair + pairs > PAIRS) nextPair = 0;
    const first = FIRST_PORT + 2 * nextPair;
    nextPair += pairs;
    const servers = Array.from({ length: count }, () => net.createServer());
    const listening = servers.map(
      (server, i) =>
        new Promise<boolean>((done) => {
          server.once('error', () => done(false)).listen(first + i, '127.0.0.1', () => done(true));
        }),
    );
    const free = await Promise.all(listening);
    await Promise.all(servers.map((server, i) => free[i] && new Promise((done) => server.close(done))));
    if (!free.includes(false)) return first;
  }
}

export class ServerProcess {
  readonly child: ChildProcess;
  readonly port: number;
  out = '';
  err = '';
  /** Exit code or signal, once it has ended. */
  ended: number | string | undefined;

  /**
   * @param launcher a command that becomes the server; its arguments precede the server's
   * @param preload a module that Node loads before the server
   */
  constructor(
    t: Test,
    port: number,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    launcher: readonly string[] = [],
    preload?: string,
  ) {
    this.port = port;
    const [command, ...before] = [...launcher, process.execPath];
    const options = preload === undefined ? [] : ['--import', preload];
    this.child = spawn(command!, [...before, ...options, ...PROGRAM, ...args], {
      // Without the test runner's hooks, which triple the time to start.
      env: { ...process.env, NODE_OPTIONS: '', PORT: String(port), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout!.on('data', (chunk: Buffer) => {
      this.out += chunk.toString();
    });
    this.child.stderr!.on('data', (chunk: Buffer) => {
      this.err += chunk.toString();
    });
    const ends = new Promise<void>((resolve) => {
      this.child.on('error', ({ message }) => {
        this.ended = message;
        resolve();
      });
      this.child.on('exit', (code, signal) => {
        this.ended = code ?? signal ?? 'unknown';
        resolve();
      });
    });
    // Later teardowns remove the folder, to which it may be writing.
    t.teardown(() => {
      this.child.kill('SIGKILL');
      return ends;
    });
  }

  get base(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Waits until /readyz succeeds. */
  async ready(): Promise<void> {
    const ask = () => {
      if (this.ended !== undefined) throw new Error(`the server ended with ${this.ended}: ${this.err}`);
      return fetch(`${this.base}/readyz`, {
        headers: { connection: 'close' },
        signal: AbortSignal.timeout(patient(2000)),
      }).then(
        (response) => response.ok,
        () => false,
      );
    };
    await until(ask, 60_000, () => this.err);
  }

  /** Waits until it prints that it plays, after it listens. */
  async plays(): Promise<void> {
    const hasSaid = () => {
      if (this.ended !== undefined) throw new Error(`the server ended with ${this.ended}: ${this.err}`);
      return this.out.includes('plays');
    };
    await until(hasSaid, 60_000, () => this.err);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.child.kill(signal);
    await until(
      () => this.ended !== undefined,
      20_000,
      () => this.err,
    );
  }
}
