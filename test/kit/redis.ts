/** A real redis-server for tests: on a free port, or a socket's path, with its files in a folder of its own; it can be killed, stopped, emptied and set back. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { until } from './player.js';
import { freePort } from './process.js';
import { tempFolder } from './server.js';

/** Why a test that needs it is skipped; false: it is there. */
export const noRedis: string | false =
  spawnSync('redis-server', ['--version']).error === undefined ? false : 'no redis-server here';

export class RedisServer {
  readonly port: number;
  readonly folder: string;
  readonly #options: readonly string[];
  #child: ChildProcess | null = null;

  private constructor(t: Test, port: number, options: readonly string[]) {
    this.port = port;
    this.folder = tempFolder(t);
    this.#options = options;
    t.teardown(() => this.kill());
  }

  /** Resolves once it answers. @param options as on its command line */
  static async start(t: Test, options: readonly string[] = [], port?: number): Promise<RedisServer> {
    const server = new RedisServer(t, port ?? (await freePort()), options);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Again, with what it has kept. Each write is on the disk before its answer. */
  async start(): Promise<void> {
    const own = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.folder];
    const keeps = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
    const child = spawn('redis-server', [...own, ...keeps, ...this.#options], { stdio: 'ignore' });
    this.#child = child;
    await until(
      async () => child.exitCode !== null || (await this.ask('PING').catch(() => '')) === '+PONG',
      20_000,
      () => 'redis-server does not answer',
    );
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
  }

  /** kill -9. Idempotent. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** It stands still, with its connections open. */
  stop(): void {
    this.#child!.kill('SIGSTOP');
  }

  goOn(): void {
    this.#child!.kill('SIGCONT');
  }

  /** All is gone. */
  async flush(): Promise<void> {
    await this.ask('FLUSHALL');
  }

  /** What there is now, as a file. */
  async snapshot(): Promise<string> {
    await this.ask('SAVE');
    const file = join(this.folder, `snapshot-${Date.now()}.rdb`);
    copyFileSync(join(this.folder, 'dump.rdb'), file);
    return file;
  }

  /** Starts again with what there was then. */
  async restore(snapshot: string): Promise<void> {
    await this.kill();
    rmSync(join(this.folder, 'appendonlydir'), { recursive: true, force: true });
    copyFileSync(snapshot, join(this.folder, 'dump.rdb'));
    // Without its log of commands, which would count for more than the file.
    const options = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.folder, '--appendonly', 'no'];
    const child = spawn('redis-server', [...options, '--save', '', ...this.#options], { stdio: 'ignore' });
    this.#child = child;
    await until(
      async () => (await this.ask('PING').catch(() => '')) === '+PONG',
      20_000,
      () => 'redis-server does not answer',
    );
  }

  /** One command on a line; resolves with the first line of the answer. */
  ask(command: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.port, '127.0.0.1', () => socket.write(`${command}\r\n`));
      let text = '';
      socket.setTimeout(5000, () => socket.destroy(new Error('no answer')));
      socket.on('error', reject).on('data', (data) => {
        text += data;
        if (!text.includes('\r\n')) return;
        socket.destroy();
        resolve(text.slice(0, text.indexOf('\r\n')));
      });
    });
  }
}
