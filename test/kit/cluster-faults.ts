/**
 * Three machines with Redis, an encoder, listeners that check each byte, watchers and a push a second, under faults by seed: processes and machines
 * die, hang or are cut off, packets are lost, a clock is set, a machine lies, and Redis is killed, stopped, emptied, set back or written to by
 * another program. Invariants are checked all the time, and at the end.
 */

import type { Test } from 'tap';
import { agreeOnHistory } from './agreed-history.js';
import { type SettableClock, settableClock } from './faked-clock.js';
import { type Host, Hosts, noLoss } from './hosts.js';
import { LyingMachine } from './liars.js';
import { type ClusterNode, FILE_FRAMES, FILE_SOURCE, ClusterNode as Node, SECRET } from './nodes.js';
import { pause, quietFor } from './pause.js';
import type { Random } from './random.js';
import { RedisServer } from './redis.js';
import { liesIn } from './redis-lies.js';
import { RedisPair } from './redis-pair.js';
import type { StampedListener } from './reload-clients.js';
import { StampedEncoder } from './stamped.js';
import { until } from './until.js';
import { ask, Watching } from './wire.js';

export interface FaultsSize {
  readonly seconds: number;
  readonly listeners: number;
  readonly watchers: number;
  /** Whether the clock of machine b can be set. */
  readonly hasClock?: boolean;
  /** Whether Redis has a replica, and a Sentinel. */
  readonly isPair?: boolean;
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

/** A fault: its name, and the function that causes it. */
type Act = readonly [name: string, act: () => Promise<void>];

/** A push is answered within this time, even just after the loss of Redis. */
const ANSWER_MS = 15_000;
/** How long after a fault of its machine a client's connection may end. */
const FAULT_MS = 20_000;
const PUSH_MS = 1000;
/** Error of machine b's clock, seconds: at its start, and later. */
const FIRST_SKEW_S = 30;
const SKEWS_S = [-86_400, -600, -60, -1, 0, 1, 60, 600, 86_400];
const LIES_MS = 2000;
export class ClusterFaults {
  readonly #t: Test;
  readonly #random: Random;
  readonly #size: FaultsSize;
  readonly #common: RedisServer | RedisPair;
  readonly #nodes: readonly ClusterNode[];
  /** The clock of machine b; null: it is right. */
  readonly #clock: SettableClock | null;
  #listeners: Placed<StampedListener>[] = [];
  #watchers: Placed<Watching>[] = [];
  #encoder: Placed<StampedEncoder> | null = null;
  #sources = 0;
  readonly #answered: Pushed[] = [];
  #pushed = 0;
  readonly #noLoss = noLoss();
  /** Node → the time until which its clients' connections may end. */
  readonly #faulty = new Map<ClusterNode, number>();
  readonly counts = { pushes: 0, refused: 0, ended: 0, encoders: 0 };
  readonly done: string[] = [];

  private constructor(
    t: Test,
    random: Random,
    size: FaultsSize,
    common: RedisServer | RedisPair,
    nodes: readonly ClusterNode[],
    clock: SettableClock | null,
  ) {
    this.#clock = clock;
    this.#t = t;
    this.#random = random;
    this.#size = size;
    this.#common = common;
    this.#nodes = nodes;
  }

  static async begin(t: Test, random: Random, size: FaultsSize): Promise<ClusterFaults> {
    const hosts = new Hosts(t);
    const clock = size.hasClock === true ? settableClock(t, FIRST_SKEW_S) : null;
    const env = clock?.env ?? {};
    const common = size.isPair
      ? await RedisPair.start(t, [hosts.add(), hosts.add(), hosts.add()])
      : await RedisServer.start(t, [], hosts.add());
    const nodes = await Promise.all([
      Node.start(t, 'a', common, { host: hosts.add(), sources: ['encoder', FILE_SOURCE] }),
      Node.start(t, 'b', common, { host: hosts.add(), sources: ['encoder', FILE_SOURCE], env }),
      Node.start(t, 'c', common, { host: hosts.add(), mayFeed: false }),
    ]);
    const faults = new ClusterFaults(t, random, size, common, nodes, clock);
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

  /** The log of each machine since its last start. */
  get said(): string {
    return this.#nodes.map(({ name, said }) => said.replace(/^/gm, `${name} `)).join('\n');
  }

  get #redis(): RedisServer {
    return this.#common instanceof RedisPair ? this.#common.master : this.#common;
  }

  async #fault(): Promise<void> {
    const node = this.#oneOf(this.#nodes);
    const acts = [...this.#actsOnNode(node), ...this.#actsOnRedis(), ...this.#actsOnClock(), this.#liesTo(node)];
    const [name, act] = acts[this.#random.int(0, acts.length - 1)]!;
    this.done.push(`${this.#pushed}: ${name}`);
    await act();
  }

  #actsOnNode(node: ClusterNode): readonly Act[] {
    const random = this.#random;
    return [
      [`hub of ${node.name} killed`, async () => this.#kill(node, 'hub')],
      [`worker of ${node.name} killed`, async () => this.#kill(node, 'worker')],
      [`hub of ${node.name} stands still`, () => this.#stand(node, 'hub')],
      [`worker of ${node.name} stands still`, () => this.#stand(node, 'worker')],
      [
        `${node.name} stands still`,
        async () => {
          node.signal('SIGSTOP');
          await pause(random.int(500, 10_000));
          node.signal('SIGCONT');
        },
      ],
      [
        `${node.name} killed`,
        async () => {
          this.#mayEnd(node);
          await node.kill();
          await pause(random.int(0, 6000));
          await node.start();
        },
      ],
      [`${node.name} and Redis cut off, both ways`, () => this.#cut(node, [this.#redis.host!], true)],
      [`what ${node.name} sends to Redis is lost`, () => this.#cut(node, [this.#redis.host!], false)],
      [`${node.name} alone`, () => this.#cut(node, [this.#redis.host!, ...this.#othersOf(node)], true)],
      ...this.#lossOf(node),
    ];
  }

  #actsOnClock(): readonly Act[] {
    const clock = this.#clock;
    const skewSeconds = this.#oneOf(SKEWS_S);
    if (clock === null) return [];
    return [[`the clock of b is ${skewSeconds} s off`, async () => clock.set(skewSeconds)]];
  }

  /** A hostile machine that has the secret. */
  #liesTo(node: ClusterNode): Act {
    return [
      `a machine lies to ${node.name}`,
      async () => {
        const url = `http://${node.host!.address}:${node.tapesPort}`;
        const liar = new LyingMachine(this.#random, 'live');
        const endMs = performance.now() + LIES_MS;
        while (performance.now() < endMs) {
          // The node may be killed or cut off.
          await liar.lie(url, 'live', { secret: Buffer.from(SECRET), node: 'liar', url });
          await pause(20);
        }
      },
    ];
  }

  #othersOf(node: ClusterNode): readonly Host[] {
    return this.#nodes.filter((other) => other !== node).map(({ host }) => host!);
  }

  #lossOf(node: ClusterNode): readonly Act[] {
    const percent = this.#random.int(5, 30);
    const host = node.host!;
    const lossy = (others: readonly Host[]) => async () => {
      // Without nftables this fault does nothing; all else in a seed's story is the same everywhere.
      if (this.#noLoss !== false) return;
      for (const other of others) {
        host.lose(other, percent);
        other.lose(host, percent);
      }
      await pause(this.#random.int(1000, 10_000));
      for (const each of [host, ...others]) each.keepAll();
    };
    return [
      [`${node.name} and Redis lose ${percent} % of their packets`, lossy([this.#redis.host!])],
      [`${node.name} and the others lose ${percent} % of their packets`, lossy(this.#othersOf(node))],
    ];
  }

  #actsOnRedis(): readonly Act[] {
    const random = this.#random;
    const common = this.#common;
    if (common instanceof RedisPair) {
      const failOver = () => common.failOver();
      return [
        ['Redis fails over', failOver],
        ['Redis fails over', failOver],
        ['Redis emptied', () => common.master.flush()],
        ...liesIn(common.master, random),
      ];
    }
    return [
      [
        'Redis killed',
        async () => {
          await common.kill();
          await pause(random.int(0, 10_000));
          await common.start();
        },
      ],
      [
        'Redis stands still',
        async () => {
          common.stop();
          await pause(random.int(1000, 10_000));
          common.resume();
        },
      ],
      ['Redis emptied', () => common.flush()],
      ...liesIn(common, random),
      [
        'Redis set back',
        async () => {
          const snapshot = await common.snapshot();
          await pause(random.int(1000, 4000));
          await common.restore(snapshot);
        },
      ],
    ];
  }

  /** Suspends a process for a while; its supervisor may kill it meanwhile. */
  async #stand(node: ClusterNode, role: 'hub' | 'worker'): Promise<void> {
    const [pid] = node.pidsOf(role);
    if (pid === undefined) return;
    if (role === 'worker') this.#mayEnd(node);
    process.kill(pid, 'SIGSTOP');
    await pause(this.#random.int(500, 10_000));
    if (node.pidsOf(role).includes(pid)) process.kill(pid, 'SIGCONT');
    if (role === 'worker') this.#mayEnd(node);
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

  /** Reconnects clients whose connection ended; that is a failure, unless a fault of the machine explains it. */
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

  /** No watcher gets an older title after a newer one, or a title twice. */
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

  /** Waits until all have recovered: every machine shows the last title, has the same state, and plays; no answered push is lost. */
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
    await agreeOnHistory(t, this.#nodes, this.#answered);
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
