/** Two real redis-servers, one the replica of the other, and a Sentinel that watches them: for fail-overs. */

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { Host } from './hosts.js';
import { freePort } from './process.js';
import { RedisServer } from './redis.js';
import { tempFolder } from './temp-folder.js';
import { until } from './until.js';

const NAME = 'radio';
/**
 * Until a server that does not answer counts as down, and for how long a fail-over may take at most. A Sentinel asks each second, or each `DOWN_MS`
 * if that is less: then a master that is new counts as down with the first question, and the one before takes its place again.
 */
const DOWN_MS = 1500;
const FAIL_OVER_MS = 3000;
const PATIENCE_MS = 30_000;

/** Watches one server; with one of them its own word is enough. Resolves with its URL. */
export async function startSentinel(t: Test, master: RedisServer, host?: Host): Promise<string> {
  const folder = tempFolder(t);
  const port = await freePort();
  const address = host?.address ?? '127.0.0.1';
  const file = join(folder, 'sentinel.conf');
  writeFileSync(
    file,
    `port ${port}
bind ${address}
protected-mode no
dir ${folder}
sentinel monitor ${NAME} ${master.address} ${master.port} 1
sentinel down-after-milliseconds ${NAME} ${DOWN_MS}
sentinel failover-timeout ${NAME} ${FAIL_OVER_MS}
`,
  );
  const [command, ...args] = [...(host?.launcher ?? []), 'redis-server', file, '--sentinel'];
  const child = spawn(command!, args, { stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  return `redis://${address}:${port}`;
}

export class RedisPair {
  /** As a configuration names it. */
  readonly name = NAME;
  readonly sentinel: string;
  #master: RedisServer;
  #replica: RedisServer;

  private constructor(master: RedisServer, replica: RedisServer, sentinel: string) {
    this.#master = master;
    this.#replica = replica;
    this.sentinel = sentinel;
  }

  /** @param hosts of the two servers and of the Sentinel; absent: all are here */
  static async start(t: Test, hosts?: readonly [Host, Host, Host]): Promise<RedisPair> {
    const master = await RedisServer.start(t, [], hosts?.[0]);
    const replica = await RedisServer.start(t, [], hosts?.[1]);
    await replica.follow(master);
    const pair = new RedisPair(master, replica, await startSentinel(t, master, hosts?.[2]));
    await until(
      async () => (await RedisServer.infoAt(pair.sentinel, 'sentinel').catch(() => '')).includes('slaves=1'),
      PATIENCE_MS,
      () => 'the Sentinel knows no replica',
    );
    return pair;
  }

  get master(): RedisServer {
    return this.#master;
  }

  /** The master is killed, the replica takes its place; then the one before is there again, as a replica. */
  async failOver(): Promise<void> {
    const [old, next] = [this.#master, this.#replica];
    await old.kill();
    await until(
      async () => (await this.#isNamed(next)) && (await isMaster(next)),
      PATIENCE_MS,
      () => 'no fail-over',
    );
    this.#master = next;
    this.#replica = old;
    await old.start();
    await old.follow(next);
  }

  /** Whether the Sentinel takes it for the master. Before that it may give up, and have it follow the old one again. */
  async #isNamed({ address, port }: RedisServer): Promise<boolean> {
    const info = await RedisServer.infoAt(this.sentinel, 'sentinel').catch(() => '');
    return info.includes(`address=${address}:${port},`);
  }
}

async function isMaster(server: RedisServer): Promise<boolean> {
  return /role:master/.test(await server.info('replication').catch(() => ''));
}
