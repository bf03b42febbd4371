/**
 * Three machines with Redis, an encoder, listeners that check each byte, watchers and a push a second, while by seed processes and machines die, stand still
 * or are cut off, and Redis is killed, stopped, emptied or set back. What must hold then is looked at all the time, and at the end.
 */

import type { Test } from 'tap';
import { Hosts } from './hosts.js';
import { type ClusterNode, FILE_FRAMES, FILE_SOURCE, ClusterNode as Node } from './nodes.js';
import { pause, quietFor } from './pause.js';
import { until } from './player.js';
import type { Random } from './random.js';
import { RedisServer } from './redis.js';
import type { StampedListener } from './reload-clients.js';
import { StampedEncoder } from './stamped.js';
import { ask, Watching } from './wire.js';

export interface FaultsSize {
  readonly seconds: number;
  readonly listeners: number;
  readonly watchers: number;
}

interface Placed<T> {
  readonly node: ClusterNode;
  readonly it: T;
}

interface Pushed {
  readonly song: string;
  readonly node: string;
  readonly sentMs: number;
}

/** A push is answered within this, also where Redis has just gone. */
const ANSWER_MS = 15_000;
/** How long after a fault of its machine a client may be ended by it. */
const FAULT_MS = 20_000;
const PUSH_MS = 1000;

export class ClusterFaults {
  readonly #t: Test;
  readonly #random: Random;
  readonly #size: FaultsSize;
  readonly #redis: RedisServer;
  readonly #nodes: readonly ClusterNode[];
  #listeners: Placed<StampedListener>[] = [];
  #watchers: Placed<Watching>[] = [];
  #encoder: Placed<StampedEncoder> | null = null;
  #sources = 0;
  readonly #answered: Pushed[] = [];
  #pushed = 0;
  /** Node → until when its clients may be ended. */
  readonly #faulty = new Map<ClusterNode, number>();
  readonly counts = { pushes: 0, refused: 0, ended: 0, encoders: 0 };
  readonly done: string[] = [];

  private constructor(t: Test, random: Random, size: FaultsSize, redis: RedisServer, nodes: readonly ClusterNode[]) {
    this.#t = t;
    this.#random = random;
    this.#size = size;
    this.#redis = redis;
    this.#nodes = nodes;
  }

  static async begin(t: Test, random: Random, size: FaultsSize, clock: NodeJS.ProcessEnv): Promise<ClusterFaults> {
    const hosts = new Hosts(t);
    const redis = await RedisServer.start(t, [], hosts.add());
    const nodes = await Promise.all([
      Node.start(t, 'a', redis, { host: hosts.add(), sources: ['encoder', FILE_SOURCE] }),
      Node.start(t, 'b', redis, { host: hosts.add(), sources: ['encoder', FILE_SOURCE], env: clock }),
      Node.start(t, 'c', redis, { host: hosts.add(), mayFeed: false }),
    ]);
    const faults = new ClusterFaults(t, random, size, redis, nodes);
    for (let i = 0; i < size.listeners; i++) faults.#listen(faults.#oneOf(nodes));
    for (let i = 0; i < size.watchers; i++) faults.#watch(faults.#oneOf(nodes));
    return faults;
  }

  async run(): Promise<void> {
    const endMs = performance.now() + this.#size.seconds * 1000;
    let isOver = false;
    const pushing = this.#push(() => isOver);
    const looking = this.#look(() => isOver);
    try {
      await pause(5000);
      while (performance.now() < endMs) {
        await Promise.race([this.#fault(), looking]);
        await Promise.race([pause(this.#random.int(4000, 9000)), looking]);
      }
    } finally {
      isOver = true;
    }
    await Promise.all([pushing, looking]);
    await this.#agree();
  }

  async #fault(): Promise<void> {
    const random = this.#random;
    const node = this.#oneOf(this.#nodes);
    const acts: readonly (readonly [string, () => Promise<void>])[] = [
      [`hub of ${node.name} killed`, async () => this.#kill(node, 'hub')],
      [`worker of ${node.name} killed`, async () => this.#kill(node, 'worker')],
      [
        `${node.name} killed`,
        async () => {
          this.#mayEnd(node);
          await node.kill();
          await pause(random.int(0, 6000));
          await node.start();
        },
      ],
      [
        'Redis killed',
        async () => {
          await this.#redis.kill();
          await pause(random.int(0, 10_000));
          await this.#redis.start();
        },
      ],
      [
        'Redis stands still',
        async () => {
          this.#redis.stop();
          await pause(random.int(1000, 10_000));
          this.#redis.goOn();
        },
      ],
      ['Redis emptied', () => this.#redis.flush()],
      [
        'Redis set back',
        async () => {
          const snapshot = await this.#redis.snapshot();
          await pause(random.int(1000, 4000));
          await this.#redis.restore(snapshot);
        },
      ],
      [`${node.name} and Redis cut off, both ways`, () => this.#cut(node, [this.#redis.host!], true)],
      [`what ${node.name} sends to Redis is lost`, () => this.#cut(node, [this.#redis.host!], false)],
      [
        `${node.name} alone`,
        () => {
          this.#mayEnd(node);
          const others = this.#nodes.filter((other) => other !== node).map(({ host }) => host!);
          return this.#cut(node, [this.#redis.host!, ...others], true);
        },
      ],
    ];
    const [name, act] = acts[random.int(0, acts.length - 1)]!;
    this.done.push(`${this.#pushed}: ${name}`);
    await act();
  }

  async #cut(node: ClusterNode, others: readonly NonNullable<ClusterNode['host']>[], isBoth: boolean): Promise<void> {
    const host = node.host!;
    for (const other of others) {
      host.cut(other);
      if (isBoth) other.cut(host);
    }
    await pause(this.#random.int(1000, 10_000));
    for (const other of others) {
      host.mend(other);
      if (isBoth) other.mend(host);
    }
    if (this.#faulty.has(node)) this.#mayEnd(node);
  }

  #kill(node: ClusterNode, role: 'hub' | 'worker'): void {
    const pids = node.pidsOf(role);
    if (pids.length === 0) return;
    if (role === 'worker') this.#mayEnd(node);
    process.kill(pids[this.#random.int(0, pids.length - 1)]!, 'SIGKILL');
  }

  #mayEnd(node: ClusterNode): void {
    this.#faulty.set(node, performance.now() + FAULT_MS);
  }

  async #push(isOver: () => boolean): Promise<void> {
    for (; !isOver(); await pause(PUSH_MS)) {
      const node = this.#oneOf(this.#nodes);
      const song = `${++this.#pushed}`;
      const sentMs = performance.now();
      const answer = await Promise.race([
        ask(this.#t, node.port, `GET /metapush/live/demo-token?id=${song}&song=${song} HTTP/1.1`).catch(() => null),
        pause(ANSWER_MS).then(() => null),
      ]);
      if (answer?.status === 200) {
        this.counts.pushes++;
        this.#answered.push({ song, node: node.name, sentMs });
      } else this.counts.refused++;
    }
  }

  /** Who was ended comes again, where that was to be; else it is a fault. */
  async #look(isOver: () => boolean): Promise<void> {
    for (; !isOver(); await pause(100)) {
      const nowMs = performance.now();
      const may = (node: ClusterNode) => (this.#faulty.get(node) ?? 0) > nowMs;
      for (const placed of [...this.#listeners]) {
        const { player, reader } = placed.it;
        if (reader.fault !== '') throw new Error(`a listener at ${placed.node.name}: ${reader.fault}`);
        if (!player.closed) continue;
        if (!may(placed.node)) throw new Error(`a listener at ${placed.node.name} was ended: ${player.statusLine}`);
        if (player.status === 200) this.counts.ended++;
        this.#listeners.splice(this.#listeners.indexOf(placed), 1);
        this.#listen(placed.node);
      }
      for (const placed of [...this.#watchers]) {
        const { it, node } = placed;
        this.#inOrder(placed);
        if (it.code === 0 && it.refused === undefined) continue;
        if (!may(node) && it.open) throw new Error(`a watcher at ${node.name} was closed: ${it.code}`);
        this.#watchers.splice(this.#watchers.indexOf(placed), 1);
        this.#watch(node);
      }
      if (this.#encoder?.it.closed ?? true) this.#encode();
    }
  }

  /** No older title behind a newer one, none twice. */
  #inOrder({ it, node }: Placed<Watching>): void {
    const songs = it.records.map(({ song }) => Number(song));
    for (let i = 1; i < songs.length; i++) {
      if (songs[i]! <= songs[i - 1]!)
        throw new Error(`a watcher at ${node.name} got ${songs[i]} behind ${songs[i - 1]}`);
    }
    if (it.records.length > 2) it.records.splice(0, it.records.length - 2);
  }

  #encode(): void {
    const node = this.#oneOf(this.#nodes.slice(0, 2));
    const it = new StampedEncoder(this.#t, node.port, '/live', 'demo-source', 'mp3', ++this.#sources);
    this.#encoder = { node, it };
    this.counts.encoders++;
  }

  #listen(node: ClusterNode): void {
    const it = node.listen(this.#random.chance(0.5), new Map([[FILE_SOURCE, FILE_FRAMES]]));
    this.#listeners.push({ node, it });
  }

  #watch(node: ClusterNode): void {
    this.#watchers.push({ node, it: new Watching(this.#t, `${node.ws}/metadata/channel/live`) });
  }

  /** All is there again: every machine shows the last title, has the same state, and plays; no answered push is lost. */
  async #agree(): Promise<void> {
    const t = this.#t;
    const last = this.#answered.at(-1)!.song;
    let songs: (string | undefined)[] = [];
    await until(
      async () => {
        songs = await Promise.all(
          this.#nodes.map(async ({ port }) => {
            const answer = await ask(t, port, 'GET /metadata/channel/live.json HTTP/1.1').catch(() => null);
            return answer?.status === 200 ? answer.json().song : undefined;
          }),
        );
        return songs.every((song) => Number(song) >= Number(last) && song === songs[0]);
      },
      60_000,
      () => `the last title is ${last}, they show ${songs}`,
    );
    const lost: string[] = [];
    for (const node of this.#nodes) {
      const own = this.#answered.filter((each) => each.node === node.name).map(({ song }) => song);
      const answer = await ask(t, node.port, 'GET /metadata/channel/live/history.json?limit=1000 HTTP/1.1');
      const there = new Set((answer.json() as readonly { readonly song: string }[]).map(({ song }) => song));
      lost.push(...own.filter((song) => !there.has(song)).map((song) => `${song} of ${node.name}`));
    }
    t.same(lost, [], 'every push that was answered is in the history of the machine that answered it');
    const heard = () => this.#listeners.filter(({ it }) => it.reader.runs.at(-1)?.source === this.#sources);
    await until(
      () => heard().length === this.#listeners.length,
      30_000,
      () => `${heard().length} of ${this.#listeners.length} hear the encoder`,
    );
    await quietFor(500);
    for (const placed of this.#watchers) this.#inOrder(placed);
    for (const { it, node } of this.#listeners) if (it.reader.fault !== '') t.fail(`${node.name}: ${it.reader.fault}`);
  }

  #oneOf<T>(all: readonly T[]): T {
    return all[this.#random.int(0, all.length - 1)]!;
  }
}
