/** Pushes at workers, over a real local socket to a hub that decides them. */

import net from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { openLog } from '../../src/base/log.js';
import { Tallies } from '../../src/base/tallies.js';
import { Sequence } from '../../src/feed/sequence.js';
import { HubLinks } from '../../src/link/hub-links.js';
import { MAX_MESSAGE_BYTES } from '../../src/link/wire/wire.js';
import { WorkerLink } from '../../src/link/worker-link.js';
import type { PushInput } from '../../src/metadata/push-input.js';
import type { Change, ChannelState, HistoryEntry } from '../../src/now-playing/state.js';
import { LocalEngine } from '../../src/titles/local.js';
import { Moments } from '../../src/titles/moments.js';
import { PushDecider } from '../../src/titles/push-decider.js';
import { stamped } from '../../src/titles/stamped.js';
import { MemoryStore } from '../kit/memory-store.js';
import { pause, quietFor } from '../kit/pause.js';
import { Random } from '../kit/random.js';
import { SlowStore } from '../kit/slow-store.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

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

const RULES = {
  titlesFrom: ['metapush' as const],
  holdSeconds: 86_400,
  pushDecodesEntities: false,
};

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
    const decisions = new PushDecider({
      engine: local,
      moments: new Moments(clock),
      log: openLog('silent', 0).log,
      rulesOf: (channel) => (KEYS.includes(channel) ? RULES : undefined),
      heldPushes: () => 10_000,
      check: () => undefined,
      fits: (change) => this.links.fits(change),
    });
    this.links = new HubLinks({
      clock,
      channels: new Map(),
      keys: () => KEYS,
      states: local,
      hls: { askHls: () => null, hlsOf: () => undefined },
      decisions,
      sequence,
      storeFault: () => null,
      tallies: new Tallies(),
      remembered: 10,
      metrics: async () => this.metrics,
      onLastMetrics: () => undefined,
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
  /** What it says to an operator. */
  said: unknown = null;
  onDeliver: (channel: string, change: Change) => void = () => undefined;

  constructor(t: Test, worker: number, path: string, clock: SystemClock) {
    this.link = new WorkerLink({
      tallies: new Tallies(),
      worker,
      clock,
      sequence: this.sequence,
      onReady: () => undefined,
      metrics: async () => [],
      onAdmin: () => this.said,
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

const play = (song: string): PushInput => ({ type: 'now', artist: '', song });

t.test(
  'a push is committed, delivered, answered: in this order; one that cannot be committed changes nothing',
  async (t) => {
    const { clock, path, store } = start(t);
    const hub = new TitleHub(t, path, store, clock);
    t.teardown(() => hub.kill());
    const worker = new TitleWorker(t, 7, path, clock);
    const { titles } = worker.link;
    await worker.link.ready();
    const go = store.pause();
    let isAnswered = false;
    const pushed = titles.push('a', play('first')).then((decided) => {
      isAnswered = true;
      return decided;
    });
    await quietFor(20);
    t.same(worker.delivered, [], 'nothing is delivered before its commit');
    t.equal(titles.state('a').version, 0, 'nor is it in force');
    worker.onDeliver = () => {
      t.equal(store.load('a')!.version, 1);
      t.equal(isAnswered, false);
    };
    go();
    t.match(await pushed, { answer: { song: 'first' }, isFarAhead: false, version: 1 });
    t.equal(worker.delivered.length, 1, 'answered after delivery');
    t.match(await titles.push('a', play('first')), { answer: { song: 'first' }, version: null }, 'it repeats');
    store.failing = true;
    await t.rejects(titles.push('a', play('lost')), { name: 'Refusal', kind: 'unavailable' });
    t.equal(titles.state('a').now?.song, 'first');
    store.failing = false;
    worker.onDeliver = () => undefined;
    t.match(await titles.push('a', play('second')), { version: 2 }, 'without a gap');
    await t.rejects(titles.push('unknown', play('x')), { name: 'Refusal', kind: 'not-found' });
  },
);

t.test('what waits is taken back, and the next', async (t) => {
  const { clock, path, store } = start(t);
  const hub = new TitleHub(t, path, store, clock);
  t.teardown(() => hub.kill());
  const { titles } = new TitleWorker(t, 7, path, clock).link;
  const timeSeconds = Math.floor(Date.now() / 1000) + 3600;
  t.match(await titles.push('a', { ...play('later'), id: 'l', timeSeconds }), { version: null });
  t.match(titles.state('a').held, [{ id: 'l' }], 'a worker sees what waits');
  t.equal(await titles.withdraw('a', { held: 'x' }), false);
  t.equal(await titles.withdraw('a', { held: 'l' }), true);
  t.same(titles.state('a').held, []);
  t.equal(await titles.withdraw('a', 'next'), false);
  await titles.push('a', { ...play('follows'), type: 'next' });
  t.equal(await titles.withdraw('a', 'next'), true);
  t.equal(titles.state('a').next, null);
});

t.test(
  'workers that push to one channel at a time: each sees all changes in one order, answered when all have them',
  async (t) => {
    const { clock, path, store } = start(t);
    const hub = new TitleHub(t, path, store, clock);
    t.teardown(() => hub.kill());
    const workers = [1, 2, 3].map((number) => new TitleWorker(t, number, path, clock));
    const updates = workers.flatMap((worker, w) =>
      Array.from({ length: 20 }, async (_, i) => {
        const { answer, version } = await worker.link.titles.push('a', play(`${w}.${i}`));
        for (const other of workers) {
          const has = other.delivered.some(({ change }) => change.state.version === version);
          t.ok(has, `${w}.${i}: an answered push is everywhere`);
        }
        return answer.song;
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
  const long = (n: number): PushInput => ({
    ...play(`${n}`),
    timeSeconds: Math.floor(Date.now() / 1000) + 3600 + n,
    extdata: `{"x":"${'x'.repeat(10_000_000)}"}`,
  });
  for (let n = 0; n < 3; n++) await link.titles.push('a', long(n));
  t.equal(link.titles.state('a').held.length, 3);
  await t.rejects(link.titles.push('a', long(3)), { name: 'Refusal', kind: 'too-large' });
  t.equal(store.load('a')!.version, 3);
  const errors: unknown[] = [];
  hub.onError = (error) => errors.push(error);
  hub.metrics = 'm'.repeat(MAX_MESSAGE_BYTES);
  await t.rejects(link.ask('metrics', null), { name: 'Refusal', kind: 'internal' });
  t.equal(errors.length, 1, 'which is logged');
  t.match(await link.titles.push('a', play('short')), { version: 4 });
  t.equal(hub.sockets.size, 1, 'one link all the time');
});

t.test('a request or an answer that is not as it should be fails alone, and the link holds', async (t) => {
  const { clock, path, store } = start(t);
  const hub = new TitleHub(t, path, store, clock);
  t.teardown(() => hub.kill());
  const errors: unknown[] = [];
  hub.onError = (error) => errors.push(error);
  const worker = new TitleWorker(t, 1, path, clock);
  const { link } = worker;
  const everywhere = (ask: { channel?: string }) => link.ask('everywhere', { question: 'end', ask });
  await t.rejects(everywhere({}), { name: 'Refusal', kind: 'internal' });
  t.match(errors, [/ask of end: .*names no listeners/], 'which is logged');
  worker.said = 3;
  t.same(await everywhere({ channel: 'a' }), [3]);
  worker.said = 'three';
  t.same(await everywhere({ channel: 'a' }), [], 'as of a worker that does not answer');
  t.match(errors, [/ask of end/, /answer to end/]);
  hub.metrics = 3 as unknown as string;
  await t.rejects(link.ask('metrics', null), /answer to metrics/);
  t.match(await link.titles.push('a', play('next')), { version: 1 });
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
      // Two at a time: the second is not to be decided before the first is answered, or that would be asked for again behind it.
      const songs = [`${w}.${i}`, `${w}.${i}b`];
      await Promise.all(songs.map((song) => worker.link.titles.push(`c${w}`, play(song))));
      answered.push(...songs);
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
