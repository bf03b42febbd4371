/**
 * A real redis-server for tests: on a free port or a socket's path, with its own folder for files; it can be killed, suspended, emptied and
 * set back.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { Host } from './hosts.js';
import { freePort } from './process.js';
import { tempFolder } from './temp-folder.js';
import { patient, until } from './until.js';

/** Why a test that needs it is skipped; false: it is installed. */
export const noRedis: string | false =
  spawnSync('redis-server', ['--version']).error === undefined ? false : 'no redis-server here';

export class RedisServer {
  readonly port: number;
  readonly address: string;
  readonly host: Host | null;
  readonly folder: string;
  readonly #options: readonly string[];
  readonly #launcher: readonly string[];
  #child: ChildProcess | null = null;

  private constructor(t: Test, port: number, options: readonly string[], host?: Host) {
    this.port = port;
    this.address = host?.address ?? '127.0.0.1';
    this.host = host ?? null;
    this.#launcher = host?.launcher ?? [];
    this.folder = tempFolder(t);
    this.#options = options;
    t.teardown(() => this.kill());
  }

  /** Resolves once it answers. @param options for its command line */
  static async start(t: Test, options: readonly string[] = [], host?: Host): Promise<RedisServer> {
    const server = new RedisServer(t, await freePort(), options, host);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://${this.address}:${this.port}`;
  }

  /** Starts it with its former data. Each write is on the disk before its answer. */
  start(): Promise<void> {
    return this.#spawn(['--appendonly', 'yes', '--appendfsync', 'always']);
  }

  async #spawn(keeps: readonly string[]): Promise<void> {
    const [command, ...before] = [...this.#launcher, 'redis-server'];
    const own = ['--port', `${this.port}`, '--bind', this.address, '--protected-mode', 'no', '--dir', this.folder];
    const args = [...before, ...own, ...keeps, '--save', '', ...this.#options];
    const child = spawn(command!, args, { stdio: 'ignore' });
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

  /** Makes it a replica. Resolves once it has all data of its master. */
  async follow(master: RedisServer): Promise<void> {
    await this.ask(`REPLICAOF ${master.address} ${master.port}`);
    await until(
      async () => /master_link_status:up/.test(await this.info('replication').catch(() => '')),
      20_000,
      () => 'no replica',
    );
  }

  /** Suspends it, with its connections open. */
  stop(): void {
    this.#child!.kill('SIGSTOP');
  }

  resume(): void {
    this.#child!.kill('SIGCONT');
  }

  /** Deletes all data. */
  async flush(): Promise<void> {
    await this.ask('FLUSHALL');
  }

  /** Saves the present data as a file; resolves with its path. */
  async snapshot(): Promise<string> {
    await this.ask('SAVE');
    const file = join(this.folder, `snapshot-${Date.now()}.rdb`);
    copyFileSync(join(this.folder, 'dump.rdb'), file);
    return file;
  }

  /** Starts again with the data of a snapshot. */
  async restore(snapshot: string): Promise<void> {
    await this.kill();
    rmSync(join(this.folder, 'appendonlydir'), { recursive: true, force: true });
    copyFileSync(snapshot, join(this.folder, 'dump.rdb'));
    // Without its log of commands, which would take precedence over the file.
    await this.#spawn(['--appendonly', 'no']);
  }

  info(section: string): Promise<string> {
    return infoAt(this.address, this.port, section);
  }

  /** INFO of a server or a Sentinel. */
  static infoAt(url: string, section: string): Promise<string> {
    const { hostname, port } = new URL(url);
    return infoAt(hostname, Number(port), section);
  }

  /** Sends a command on one line; resolves with the first line of the answer. */
  ask(command: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.port, this.address, () => socket.write(`${command}\r\n`));
      let text = '';
      socket.setTimeout(patient(5000), () => socket.destroy(new Error('no answer')));
      socket.on('error', reject).on('data', (data) => {
        text += data;
        if (!text.includes('\r\n')) return;
        socket.destroy();
        resolve(text.slice(0, text.indexOf('\r\n')));
      });
    });
  }
}

function infoAt(host: string, port: number, section: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => socket.end(`INFO ${section}\r\n`));
    let text = '';
    socket.setTimeout(patient(5000), () => socket.destroy(new Error('no answer')));
    socket.on('error', reject).on('close', () => resolve(text));
    socket.on('data', (data) => {
      text += data;
    });
  });
}
