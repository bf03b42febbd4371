/** Two real redis-servers, one the replica of the other, and a Sentinel that watches them, for fail-overs. */

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
 * After this time a silent server counts as down; a fail-over may take FAIL_OVER_MS. Not less than a second, the interval at which a Sentinel pings:
 * otherwise a new master would count as down at its first ping, and the previous one would take its place again.
 */
const DOWN_MS = 1500;
const FAIL_OVER_MS = 3000;
const PATIENCE_MS = 30_000;

/** Starts a Sentinel that watches one server; its vote alone decides. Resolves with its URL. */
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
  /** The master's name in a configuration. */
  readonly name = NAME;
  readonly sentinel: string;
  #master: RedisServer;
  #replica: RedisServer;

  private constructor(master: RedisServer, replica: RedisServer, sentinel: string) {
    this.#master = master;
    this.#replica = replica;
    this.sentinel = sentinel;
  }

  /** @param hosts of the two servers and of the Sentinel; absent: this one */
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

  /** Kills the master, waits until the replica replaces it, and starts the previous master as a replica. */
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

  /** Whether the Sentinel considers it the master. Before that, it may give up and make it follow the old master again. */
  async #isNamed({ address, port }: RedisServer): Promise<boolean> {
    const info = await RedisServer.infoAt(this.sentinel, 'sentinel').catch(() => '');
    return info.includes(`address=${address}:${port},`);
  }
}

async function isMaster(server: RedisServer): Promise<boolean> {
  return /role:master/.test(await server.info('replication').catch(() => ''));
}
