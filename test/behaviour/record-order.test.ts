/**
 * No connection sees a record twice or an older one after a newer, and none misses what is in force: not when commits overtake
 * each other, when readers stall in the middle of their first messages, when they resume by id, or when the process dies.
 */

import t from 'tap';
import { Feed, type Firsts, type Message } from '../../src/feed/feed.js';
import { readCovered, Sequence } from '../../src/feed/sequence.js';
import { type Transport, WatchConnection } from '../../src/http/watch/watch-connection.js';
import type { TrackRecord, TrackType } from '../../src/metadata/record.js';
import { RecordView } from '../../src/metadata/view.js';
import { Events } from '../kit/events.js';
import { Random } from '../kit/random.js';
import { makeRecord } from '../kit/record.js';
import { startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { ask, Watching } from '../kit/wire.js';

const KEYS = ['e', 'b', 'd', 'a', 'c'];
const FACES = KEYS.map((key) => ({ key, name: '', station: 'house', timezone: 'UTC' }));
const LIMITS = { pingMs: 1e9, bufferBytes: 3, drainMs: 1e9 };

/** The server without sockets: commits that may overtake each other, and a store that outlives a crash. */
class Node {
  feed = new Feed();
  readonly store = new Map<string, TrackRecord>();
  #under: TrackRecord[] = [];
  #version = 0;
  /** As it is stored with every change. */
  #stamp = 0;
  wallMs = 1_790_000_000_000;
  /** Channel → its last next, where it was dropped since the process began. */
  readonly dropped = new Map<string, number>();

  constructor() {
    this.feed.change(new Map([['house', FACES]]));
  }

  begin(channel: string, type: TrackType): void {
    // One change at a time on a channel, as engines have it.
    if (this.#under.some((record) => record.channel === channel)) return;
    const version = ++this.#version;
    const stamp = this.feed.sequence.issue(this.wallMs);
    this.#under.push(makeRecord({ channel, type, version, stamp, id: `${version}`, song: `${version}` }));
  }

  /** Commits one of those under way; @param isPublished false: the process dies before readers get it */
  end(random: Random, isPublished = true): void {
    const [record] = this.#under.splice(random.int(0, Math.max(0, this.#under.length - 1)), 1);
    if (record === undefined) return;
    this.store.set(`${record.channel} ${record.type}`, record);
    this.#stamp = Math.max(this.#stamp, record.stamp!);
    if (record.type === 'next') this.dropped.delete(record.channel);
    if (isPublished) this.feed.publish(this.#view(record));
  }

  fail(): void {
    const record = this.#under.pop();
    if (record !== undefined) this.feed.sequence.settle(record.stamp!);
  }

  spend(channel: string): void {
    this.store.delete(`${channel} next`);
    this.feed.set(channel, 'next', null);
  }

  drop(channel: string): void {
    this.store.delete(`${channel} next`);
    const view = this.feed.dropNext(channel);
    if (view !== null) this.dropped.set(channel, view.record.version);
  }

  /** By a reload. */
  rename(): void {
    this.feed.change(new Map([['house', FACES.map((face) => ({ ...face }))]]));
  }

  crash(random: Random): void {
    for (let i = random.int(0, 2); i > 0; i--) this.end(random, false);
    this.#under = [];
    this.dropped.clear();
    this.feed = new Feed();
    this.feed.sequence.follow(this.#stamp);
    this.feed.change(new Map([['house', FACES]]));
    for (const record of this.store.values()) this.feed.set(record.channel, record.type, this.#view(record));
  }

  #view(record: TrackRecord): RecordView {
    return new RecordView(record, FACES[KEYS.indexOf(record.channel)]!);
  }
}

/** A client that keeps all it was sent, over all its connections. A message is one byte of its buffer, of which three fit. */
class Client implements Transport {
  readonly topic: string;
  readonly messages: string[] = [];
  readonly newest = new Map<string, number>();
  lastId: string | undefined;
  open = false;
  waiting = 0;
  taken = 0;
  readonly received = 0;
  readonly maxReceived = 0;
  readonly alive = true;
  readonly direct = null;
  #reader: WatchConnection | undefined;
  #unsubscribe = () => {};

  constructor(topic: string) {
    this.topic = topic;
  }

  connect(feed: Feed): void {
    this.open = true;
    this.waiting = 0;
    this.#reader = new WatchConnection(this, LIMITS, 0);
    this.#unsubscribe =
      this.topic === 'house'
        ? feed.watchStation('house', this.#reader, this.lastId)
        : feed.watchChannel(this.topic, this.#reader, this.lastId);
  }

  cut(): void {
    this.open = false;
    this.#unsubscribe();
  }

  take(): void {
    this.waiting = 0;
    this.#reader!.flush();
  }

  send(message: Message, firsts: Firsts | null): void {
    this.waiting++;
    this.lastId = firsts?.id ?? message.id;
    const { id, song } = JSON.parse(message.json) as { id: string; song: string };
    if (song === '') {
      const text = `${message.slot} without ${id}`;
      if (this.messages.includes(text)) throw new Error(`${text} twice in ${this.messages}`);
      this.messages.push(text);
      return;
    }
    const version = Number(song);
    if ((this.newest.get(message.slot) ?? 0) >= version)
      throw new Error(`${message.slot} ${version} after ${this.messages}`);
    this.newest.set(message.slot, version);
    this.messages.push(`${message.slot} ${version}`);
  }

  ping(): void {}
  close(): void {}
}

t.test('any order of commits, stalls, resumes and crashes', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  let resumed = 0;
  let withinFirsts = 0;
  let overtaken = 0;
  let drops = 0;
  for (let run = 0; run < 300; run++) {
    const node = new Node();
    const clients = ['house', 'house', 'a', 'e'].map((topic) => new Client(topic));
    const doing = () => {
      const client = clients[random.int(0, clients.length - 1)]!;
      const channel = KEYS[random.int(0, KEYS.length - 1)]!;
      const dice = random.next();
      if (dice < 0.3) node.begin(channel, random.chance(0.3) ? 'next' : 'now');
      else if (dice < 0.55) node.end(random);
      else if (dice < 0.57) node.fail();
      else if (dice < 0.62) random.chance(0.5) ? node.spend(channel) : node.drop(channel);
      else if (dice < 0.64) node.wallMs += random.chance(0.5) ? -3_600_000 : 3_600_000;
      else if (dice < 0.66) node.rename();
      else if (dice < 0.76) {
        if (client.open) client.take();
      } else if (dice < 0.985) {
        if (client.open) client.cut();
        else {
          if (client.lastId !== undefined) resumed++;
          if (client.lastId?.includes('@')) withinFirsts++;
          if (/^\w+-/.test(client.lastId ?? '')) overtaken++;
          client.connect(node.feed);
        }
      } else {
        for (const other of clients) if (other.open) other.cut();
        node.crash(random);
      }
    };
    try {
      for (let step = 0; step < 250; step++) doing();
      for (const client of clients) {
        if (!client.open) client.connect(node.feed);
        for (let i = 0; i < 20; i++) client.take();
        for (const { channel, type, version } of node.store.values()) {
          if (client.topic !== 'house' && client.topic !== channel) continue;
          if (client.newest.get(`${channel} ${type}`) !== version) {
            throw new Error(`${client.topic} misses ${channel} ${type} ${version}, has ${client.messages}`);
          }
        }
        for (const [channel, version] of node.dropped) {
          if (client.newest.get(`${channel} next`) !== version) continue;
          if (client.messages.includes(`${channel} next without ${version}`)) drops++;
          else
            throw new Error(`${client.topic} misses that ${channel} next ${version} was dropped: ${client.messages}`);
        }
      }
    } catch (error) {
      t.fail(`seed ${random.seed}, run ${run}: ${(error as Error).message}`);
      return;
    }
  }
  t.ok(
    resumed > 1000 && withinFirsts > 200 && overtaken > 50 && drops > 50,
    `${resumed} ${withinFirsts} ${overtaken} ${drops}`,
  );
});

t.test('on the whole server, over a restart', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  const channels = KEYS.map(
    (key) => `      ${key}: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }`,
  );
  const yaml = `
addresses: [{ host: 127.0.0.1, port: 0 }]
limits: { pushesPerMinute: 1000000, pushBurst: 1000000 }
stations:
  house:
    channels:
${channels.join('\n')}
`;
  let server = await startServer(t, yaml);
  const topics = ['station/house', 'channel/a'];
  const streams = topics.map((topic) => ({ topic, past: [] as string[], events: new Events(t, server.port, topic) }));
  let sockets = topics.map((topic) => new Watching(t, `${server.ws}/metadata/${topic}`));
  const last = new Map<string, string>();
  const push = async (n: number) => {
    const key = KEYS[random.int(0, KEYS.length - 1)]!;
    const type = random.chance(0.25) ? 'next' : 'now';
    const path = `/metapush/${key}/demo-token?song=${n}&tracktype=${type}&id=${n}`;
    const { status } = await ask(t, server.port, `GET ${path} HTTP/1.1`);
    if (status !== 200) throw new Error(`push: ${status}`);
    last.set(`${key} ${type}`, String(n));
  };
  const slotOf = (record: { channelkey: string; type: string }) => `${record.channelkey} ${record.type}`;
  // A next that is dropped comes once more, without words.
  const named = (record: { channelkey: string; type: string; song: string; id: string }) =>
    `${slotOf(record)} ${record.song || `without ${record.id}`}`;
  const reconnect = (stream: (typeof streams)[number]) => {
    stream.past.push(...stream.events.seen.map(({ record }) => named(record)));
    stream.events.close();
    const { lastId } = stream.events;
    // A page that makes its EventSource anew gives the id in the address.
    const next = random.chance(0.5)
      ? new Events(t, server.port, stream.topic, `Last-Event-ID: ${lastId}\r\n`)
      : new Events(t, server.port, `${stream.topic}?lastEventId=${lastId}`);
    next.lastId = lastId;
    stream.events = next;
  };
  let count = 0;
  for (let part = 0; part < 2; part++) {
    for (let round = 0; round < 60; round++) {
      const batch = Array.from({ length: random.int(1, 4) }, () => push(++count));
      if (random.chance(0.5)) reconnect(streams[random.int(0, 1)]!);
      await Promise.all(batch);
    }
    // Two pushes under way on one channel are published in the order of their commits: only a last, lone one is known to be last.
    for (const key of KEYS) {
      const { status } = await ask(t, server.port, `GET /metapush/${key}/demo-token?song=${++count} HTTP/1.1`);
      if (status !== 200) throw new Error(`push: ${status}`);
      last.set(`${key} now`, String(count));
    }
    const complete = (messages: readonly string[], topic: string) =>
      KEYS.every(
        (key) => (topic === 'channel/a' && key !== 'a') || messages.includes(`${key} now ${last.get(`${key} now`)}`),
      );
    const all = (stream: (typeof streams)[number]) => [
      ...stream.past,
      ...stream.events.seen.map(({ record }) => named(record)),
    ];
    for (const stream of streams) {
      await until(
        () => complete(all(stream), stream.topic),
        5000,
        () => `${stream.topic}: ${all(stream).slice(-20)}`,
      );
    }
    for (const watching of sockets) {
      const messages = () => watching.records.map(named);
      await until(() => messages().includes(`a now ${last.get('a now')}`), 5000);
      t.equal(new Set(messages()).size, messages().length, 'no WebSocket sees a record twice');
    }
    for (const stream of streams) t.equal(new Set(all(stream)).size, all(stream).length, 'no resume repeats a record');
    if (part === 1) break;
    await server.app.stop();
    server = await startServer(t, yaml, server.folder);
    for (const stream of streams) reconnect(stream);
    sockets = topics.map((topic) => new Watching(t, `${server.ws}/metadata/${topic}`));
    for (const watching of sockets) await watching.opened();
    for (const stream of streams) await stream.events.opened();
    t.same(
      streams.map((stream) => stream.events.seen.length),
      [0, 0],
      'after the restart nothing is repeated',
    );
  }
});

t.test('a drop is not covered by an id of the process before this one', async (t) => {
  const before = new Sequence();
  for (const stamp of [19, 22, 23]) before.publish(stamp);
  const { text } = before;
  // What had 23 is not there any more.
  const sequence = new Sequence();
  sequence.follow(23);
  for (const stamp of [19, 22]) sequence.publish(stamp);
  const issued = sequence.dropPublished(19);
  t.equal(readCovered(text)!.hasDrop(19, issued), false, 'it was dropped later');
  t.equal(readCovered(sequence.text)!.hasDrop(19, issued), true);
  sequence.publish(sequence.issue(0));
  t.match(sequence.text, /^[0-9a-z]+$/, 'a later one says it too');
  t.equal(readCovered(sequence.text)!.hasDrop(19, issued), true);
});
