/** The engine of a worker, over a real local socket to a hub's: it keeps the port's contract, alone and with others beside it. */

import net from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { Tallies } from '../../src/base/tallies.js';
import { Sequence } from '../../src/feed/sequence.js';
import { EngineHost } from '../../src/link/engine-host.js';
import { HubLinks } from '../../src/link/hub-links.js';
import { MOST_MESSAGE_BYTES } from '../../src/link/wire.js';
import { WorkerLink } from '../../src/link/worker-link.js';
import { takeNow } from '../../src/now-playing/effect.js';
import { makeTrack } from '../../src/now-playing/repeat.js';
import type { Change, ChannelState, HistoryEntry } from '../../src/now-playing/state.js';
import { MemoryStore } from '../../src/store/memory.js';
import { LocalEngine } from '../../src/titles/local.js';
import { stamped } from '../../src/titles/stamped.js';
import { pause } from '../kit/pause.js';
import { Random } from '../kit/random.js';
import { SlowStore } from '../kit/slow-store.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { type Bench, engineContract } from '../titles/engine-contract.js';

/** What one hub writes to the store. */
class OwnStore extends MemoryStore {
  isDead = false;
  readonly #store: MemoryStore;

  constructor(store: MemoryStore) {
    super();
    this.#store = store;
  }

  override load(channel: string): ChannelState | undefined {
    return this.#store.load(channel);
  }

  override async save(channel: string, state: ChannelState, history?: readonly HistoryEntry[]): Promise<void> {
    await pause(1);
    if (this.isDead) await new Promise(() => undefined);
    await this.#store.save(channel, state, history);
  }
}

const KEYS = ['a', ...Array.from({ length: 20 }, (_, i) => `c${i}`)];

/** A hub of titles alone, at a local socket, on a store that outlives it. */
class TitleHub {
  readonly links: HubLinks;
  readonly sockets = new Set<net.Socket>();
  metrics = '';
  onError: (error: unknown) => void;
  readonly #server: net.Server;
  readonly #store: OwnStore;

  constructor(t: Test, path: string, store: MemoryStore, clock: SystemClock) {
    this.onError = (error) => t.error(error);
    const sequence = new Sequence();
    const deliver = (channel: string, change: Change) => this.links.onChange(channel, change);
    const own = new OwnStore(store);
    this.#store = own;
    const local = stamped(new LocalEngine(own, deliver, () => undefined), sequence, () => clock.wallMs());
    const engine = new EngineHost(local);
    this.links = new HubLinks({
      ...{
        clock,
        channels: new Map(),
        keys: () => KEYS,
        engine,
        sequence,
        storeFault: () => null,
        onPush: () => undefined,
      },
      ...{ tallies: new Tallies(), remembered: 10, metrics: async () => this.metrics, onLastMetrics: () => undefined },
      onError: (error) => this.onError(error),
    });
    this.#server = net.createServer((socket) => {
      this.sockets.add(socket);
      this.links.take(socket);
    });
    this.#server.listen(path);
  }

  /** As a process that is killed: it writes nothing any more. */
  kill(): void {
    this.#store.isDead = true;
    this.links.close();
    this.#server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

interface Delivered {
  readonly channel: string;
  readonly change: Change;
}

/** A worker of titles alone. */
class TitleWorker {
  readonly delivered: Delivered[] = [];
  readonly link: WorkerLink;
  readonly sequence = new Sequence();
  onDeliver: (channel: string, change: Change) => void = () => undefined;

  constructor(t: Test, worker: number, path: string, clock: SystemClock) {
    this.link = new WorkerLink({
      tallies: new Tallies(),
      ...{ worker, clock, sequence: this.sequence, onReady: () => undefined, metrics: async () => [] },
      deliver: (channel, change) => {
        this.delivered.push({ channel, change });
        this.onDeliver(channel, change);
      },
      onOtherVersion: () => undefined,
      onError: () => undefined,
    });
    let isOver = false;
    const connect = () => {
      if (isOver) return;
      const socket = net.connect(path);
      t.teardown(() => {
        isOver = true;
        socket.destroy();
      });
      const again = () => void clock.alarm(clock.now() + 10, { onAlarm: connect });
      socket.once('error', again).once('connect', () => {
        socket.off('error', again);
        this.link.connect(socket, again);
      });
    };
    connect();
  }
}

function start(t: Test): { clock: SystemClock; path: string; store: SlowStore } {
  const clock = new SystemClock();
  t.teardown(() => clock.stop());
  return { clock, path: join(tempFolder(t), 'link'), store: new SlowStore() };
}

t.test('the contract', (t) =>
  engineContract(t, () => {
    const { clock, path, store } = start(t);
    const hub = new TitleHub(t, path, store, clock);
    t.teardown(() => hub.kill());
    const worker = new TitleWorker(t, 7, path, clock);
    const bench: Bench = {
      engine: worker.link.engine,
      delivered: worker.delivered,
      committed: (channel) => store.load(channel)?.version ?? 0,
      pause: () => store.pause(),
      fail: (failing) => {
        store.failing = failing;
      },
      onDeliver: () => undefined,
    };
    worker.onDeliver = (channel, change) => bench.onDeliver(channel, change);
    return bench;
  }),
);

/** @param extra bytes of other data */
const play =
  (channel: string, song: string, extra = 0) =>
  (state: ChannelState) => {
    // A push that is in force already changes nothing (now-playing/repeat.ts).
    if (state.now?.song === song) return null;
    const at = { channel, wallMs: Date.now(), newId: () => song, ageMs: () => 0 };
    const extdata = extra === 0 ? {} : { extdata: `{"x":"${'x'.repeat(extra)}"}` };
    return takeNow(state, makeTrack({ type: 'now', artist: '', song, ...extdata }, song, 1_795_178_248), at);
  };

t.test(
  'workers that change one channel at a time: each sees all changes in one order, answered when all have them',
  async (t) => {
    const { clock, path, store } = start(t);
    const hub = new TitleHub(t, path, store, clock);
    t.teardown(() => hub.kill());
    const workers = [1, 2, 3].map((number) => new TitleWorker(t, number, path, clock));
    const updates = workers.flatMap((worker, w) =>
      Array.from({ length: 20 }, async (_, i) => {
        const change = await worker.link.engine.update('a', play('a', `${w}.${i}`));
        for (const other of workers) {
          const has = other.delivered.some((one) => one.change.state.version === change!.state.version);
          t.ok(has, `${w}.${i}: an answered change is everywhere`);
        }
        return change!.record!.song;
      }),
    );
    const songs = await Promise.all(updates);
    const order = workers.map(({ delivered }) =>
      delivered.map(({ change }) => `${change.state.version} ${change.record!.song}`),
    );
    t.equal(order[0]!.length, 60);
    t.same(order[1], order[0]);
    t.same(order[2], order[0]);
    t.same(
      order[0]!.map((one) => Number(one.split(' ')[0])),
      Array.from({ length: 60 }, (_, i) => i + 1),
    );
    t.same(new Set(order[0]!.map((one) => one.split(' ')[1])), new Set(songs));
    // What was published last is covered, and nothing is open.
    const stamp = workers[0]!.delivered.at(-1)!.change.record!.stamp!;
    for (const { sequence } of workers) {
      sequence.publish(stamp);
      t.equal(sequence.text, stamp.toString(36));
    }
  },
);

t.test('what is long comes over, what is too long is refused, and the link holds', async (t) => {
  const { clock, path, store } = start(t);
  const hub = new TitleHub(t, path, store, clock);
  t.teardown(() => hub.kill());
  const { link } = new TitleWorker(t, 1, path, clock);
  // Of a thousand channels and more.
  hub.metrics = 'airsplice_source_up 1\n'.repeat(500_000);
  t.equal((await link.ask('metrics', null)).length, hub.metrics.length);
  // As many long pushes that wait for their time.
  const change = await link.engine.update('a', play('a', 'long', 5_000_000));
  t.equal(change!.record!.extdata!.length, 5_000_008);
  const tooLong = link.engine.update('a', play('a', 'longer', 15_000_000));
  await t.rejects(tooLong, { name: 'Refusal', kind: 'too-large' });
  t.equal(store.load('a')!.version, 1);
  const errors: unknown[] = [];
  hub.onError = (error) => errors.push(error);
  hub.metrics = 'm'.repeat(MOST_MESSAGE_BYTES);
  await t.rejects(link.ask('metrics', null), { name: 'Refusal', kind: 'internal' });
  t.equal(errors.length, 1, 'which is logged');
  t.equal((await link.engine.update('a', play('a', 'short')))!.state.version, 2);
  t.equal(hub.sockets.size, 1, 'one link all the time');
});

t.test('the hub is killed again and again: no change is lost, none is made twice', async (t) => {
  const random = new Random();
  const { clock, path, store } = start(t);
  let hub = new TitleHub(t, path, store, clock);
  t.teardown(() => hub.kill());
  const workers = [1, 2].map((number) => new TitleWorker(t, number, path, clock));
  const answered: string[] = [];
  let isOver = false;
  const pushing = workers.map(async (worker, w) => {
    for (let i = 0; !isOver; i++) {
      await worker.link.engine.update(`c${w}`, play(`c${w}`, `${w}.${i}`));
      answered.push(`${w}.${i}`);
    }
  });
  for (let round = 0; round < 8; round++) {
    const before = answered.length;
    await until(() => answered.length > before + 5, 10_000);
    await pause(random.int(0, 5));
    hub.kill();
    hub = new TitleHub(t, path, store, clock);
  }
  isOver = true;
  await Promise.all(pushing);
  for (const [w, worker] of workers.entries()) {
    const channel = `c${w}`;
    const songs = worker.delivered.filter((one) => one.channel === channel).map(({ change }) => change.record!.song);
    const state = store.load(channel)!;
    const own = answered.filter((song) => song.startsWith(`${w}.`));
    t.equal(state.version, own.length, `seed ${random.seed}: each answered change was made once`);
    t.equal(state.now!.song, own.at(-1));
    t.equal(new Set(songs).size, songs.length, 'nothing is delivered twice');
  }
});
