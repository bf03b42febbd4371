/**
 * Sessions of several workers against those of one process: the same watchers, polls and reports get the same, in the same order, wherever streams and
 * readers are. By seed.
 */

import t, { type Test } from 'tap';
import { Mark } from '../../../src/audio/tape/mark.js';
import type { Message, Sync } from '../../../src/feed/feed.js';
import { SessionRegistry } from '../../../src/link/sessions/session-registry.js';
import type { Session } from '../../../src/listener/sessions/session.js';
import { FakeClock } from '../../kit/clock.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';
import { CHANNELS, REPORT_MS, SessionCluster, SessionProcess, type TakingPeer } from '../../kit/session-cluster.js';
import { untilPromised } from '../../kit/until.js';

const STEPS = 120;
const STORIES = 40;
const METAIDS = ['m', 'n'];
const TIMINGS: readonly Sync[] = ['audio', 'wire'];

/** The same connection in the one process and in a worker. */
interface Twins {
  readonly model: Session;
  readonly real: Session;
  readonly worker: number;
  atMs: number;
}

interface WatcherTwins {
  readonly model: { readonly peer: TakingPeer; onGone(): void };
  readonly real: { readonly peer: TakingPeer; onGone(): void };
  readonly metaid: string;
  readonly sync: Sync;
  readonly why: string;
  /** So many of what each was sent have been compared. */
  compared: number;
}

class Story {
  readonly clock = new FakeClock();
  readonly random: Random;
  readonly one: SessionProcess;
  readonly cluster: SessionCluster;
  readonly sessions: Twins[] = [];
  readonly watchers: WatcherTwins[] = [];
  /** What was done, for a failure. */
  readonly log: string[] = [];
  readonly #names = new Map<string, string>();
  /** Metaid and worker → when a report was refused there as one too many. */
  readonly #refusedMs = new Map<string, number>();
  #opened = 0;
  #versions = 0;

  constructor(random: Random, workers: number) {
    this.random = random;
    // The order of openings is known to the microsecond.
    let last = 0;
    const sharedMs = () => ++last;
    this.one = new SessionProcess(this.clock, sharedMs);
    this.cluster = new SessionCluster(workers, this.clock, sharedMs);
  }

  pick<T>(all: readonly T[]): T | undefined {
    return all[this.random.int(0, all.length - 1)];
  }

  worker(): number {
    return this.random.int(0, this.cluster.workers.length - 1);
  }

  /** Session ids are not the same in both. */
  named(text: string): string {
    let named = text;
    for (const [id, name] of this.#names) named = named.replaceAll(id, name);
    return named;
  }

  open(metaid: string, worker: number, channel: string): Twins {
    const facts = { metaid, channel, mount: `/${channel}` };
    const model = this.one.sessions.open(facts);
    const real = this.cluster.workers[worker]!.sessions.open(facts);
    const name = `session${++this.#opened}`;
    this.log.push(`${name} of ${metaid} opens on ${channel} in ${worker + 1}`);
    this.#names.set(model.id, name).set(real.id, name);
    const twins = { model, real, worker, atMs: 0 };
    this.sessions.push(twins);
    return twins;
  }

  begin(twins: Twins, hasTitle: boolean): void {
    const mark = hasTitle ? this.mark(twins.model.channel) : null;
    for (const session of [twins.model, twins.real]) {
      session.player.begin(this.clock.now());
      session.player.write(60_000, 960_000, this.clock.now());
      session.begin(0, mark, this.clock.now());
    }
  }

  /** Its connection goes on at another channel, or with another tape, before all that it was sent is heard. */
  move(twins: Twins, channel: string, hasTitle: boolean): void {
    this.log.push(`${this.named(twins.model.id)} goes on at ${channel}`);
    const baseMs = twins.model.player.writtenMs;
    this.one.sessions.move(twins.model, channel, `/${channel}`);
    this.cluster.workers[twins.worker]!.sessions.move(twins.real, channel, `/${channel}`);
    twins.atMs = 0;
    const mark = hasTitle ? this.mark(channel) : null;
    for (const session of [twins.model, twins.real]) {
      session.player.write(baseMs + 5000, 80_000, this.clock.now());
      session.begin(0, mark, this.clock.now(), baseMs);
    }
  }

  mark(channel: string): Mark {
    const version = ++this.#versions;
    this.log.push(`  title v${version}`);
    return new Mark(viewOf(`v${version}`, { channel, version }));
  }

  write(twins: Twins, mark = this.mark(twins.model.channel), afterMs = this.random.int(0, 3000)): void {
    twins.atMs += afterMs;
    for (const session of [twins.model, twins.real]) session.written(mark, twins.atMs, this.clock.now());
  }

  close(twins: Twins): void {
    this.log.push(`${this.named(twins.model.id)} ends`);
    this.sessions.splice(this.sessions.indexOf(twins), 1);
    this.one.sessions.close(twins.model);
    this.cluster.workers[twins.worker]!.sessions.close(twins.real);
  }

  watch(metaid: string, sync: Sync, worker: number): WatcherTwins {
    const why = `watcher ${this.watchers.length} of ${metaid}, ${sync}, in ${worker + 1}`;
    this.log.push(why);
    const model = this.one.watch(metaid, sync);
    const real = this.cluster.workers[worker]!.watch(metaid, sync);
    const twins = { model, real, metaid, sync, why, compared: 0 };
    this.watchers.push(twins);
    return twins;
  }

  next(channel: string): void {
    const version = ++this.#versions;
    this.log.push(`next v${version} on ${channel}`);
    const view = viewOf(`v${version}`, { channel, version, type: 'next', stamp: version });
    for (const { next } of [this.one, ...this.cluster.workers].map((each) => ({ next: () => each.next(view) }))) next();
  }

  /** Something happens, in both. */
  step(): void {
    const { random } = this;
    const metaid = this.pick(METAIDS)!;
    const session = this.pick(this.sessions);
    switch (random.int(0, 10)) {
      case 0:
      case 1:
        if (this.sessions.length < 6)
          this.begin(this.open(metaid, this.worker(), this.pick(CHANNELS)!), random.chance(0.7));
        break;
      case 2:
      case 3:
      case 4:
        if (session !== undefined) this.write(session);
        break;
      case 5:
        if (session !== undefined) this.close(session);
        break;
      case 6:
        this.watch(metaid, this.pick(TIMINGS)!, this.worker());
        break;
      case 7:
        this.next(this.pick(CHANNELS)!);
        break;
      case 8:
        if (session !== undefined) this.move(session, this.pick(CHANNELS)!, random.chance(0.7));
        break;
      case 9: {
        const watcher = this.pick(this.watchers);
        if (watcher === undefined || this.watchers.length < 4) break;
        this.log.push(`${watcher.why} goes`);
        this.watchers.splice(this.watchers.indexOf(watcher), 1);
        watcher.model.onGone();
        watcher.real.onGone();
        break;
      }
      default:
        this.advance(random.int(40, 2500));
    }
  }

  advance(ms: number): void {
    this.log.push(`${ms} ms later`);
    this.clock.advance(ms);
    for (const each of [this.one, ...this.cluster.workers]) each.tidy();
  }

  sentTo(peer: TakingPeer, from: number): string[] {
    return peer.sent
      .slice(from)
      .map(({ slot, id, json }) => this.named(`${slot} ${id} ${JSON.parse(json).rawdata} ${json}`));
  }

  async polled(process: SessionProcess, metaid: string): Promise<readonly unknown[]> {
    const asked = process.directory.get(metaid);
    await this.cluster.settle();
    const session = await asked;
    if (session === undefined) return ['none'];
    const shown = TIMINGS.map((sync) => session.now(sync)?.json ?? null);
    return [session.channel, session.mount, ...shown].map((text) => text && this.named(text));
  }

  /** All readers have the same in both. */
  async check(t: Test): Promise<boolean> {
    for (const twins of this.watchers) {
      const { model, real, why, compared } = twins;
      const [has, should] = [this.sentTo(real.peer, compared), this.sentTo(model.peer, compared)];
      if (has.join() !== should.join()) return t.same(has, should, why);
      twins.compared += has.length;
    }
    const counts = this.cluster.workers.map(({ sessions }) => sessions.count);
    if (counts.reduce((a, b) => a + b) !== this.one.sessions.count) return t.fail('sessions are counted once each');
    return !this.random.chance(0.3) || this.checkPolls(t);
  }

  async checkPolls(t: Test): Promise<boolean> {
    for (const metaid of METAIDS) {
      const model = await this.polled(this.one, metaid);
      for (const [i, worker] of this.cluster.workers.entries()) {
        const polled = await this.polled(worker, metaid);
        if (polled.join() !== model.join()) return t.same(polled, model, `${metaid} polled in ${i + 1}`);
      }
    }
    return true;
  }

  /** What must hold whatever was under way: the last title is the one of the session that plays, and none of it came behind a newer one. */
  checkLast(t: Test): boolean {
    for (const { model, real, metaid, sync, why } of this.watchers) {
      const now = this.one.sessions.playing(metaid)?.now(sync);
      const [last, should] = [real, model].map(({ peer }) => peer.sent.findLast(({ slot }) => slot === 'now'));
      if (now != null && versionOf(last) !== versionOf(should)) return t.equal(versionOf(last), versionOf(should), why);
      const newest = new Map<string, number>();
      for (const message of real.peer.sent) {
        if (message.slot === 'next') continue;
        const session = message.id.split('~')[0]!;
        const version = versionOf(message);
        if (version < (newest.get(session) ?? 0)) {
          return t.fail(`${why}: ${this.named(message.id)} v${version} behind v${newest.get(session)}`);
        }
        newest.set(session, version);
      }
    }
    return true;
  }

  async checkSettled(t: Test): Promise<boolean> {
    await this.cluster.settle();
    // What only a former hub has said is forgotten.
    this.advance(2500);
    await this.cluster.settle();
    return this.checkLast(t) && this.checkPolls(t);
  }

  async report(t: Test): Promise<boolean> {
    const metaid = this.pick(METAIDS)!;
    const worker = this.worker();
    const { reports } = this.cluster.workers[worker]!;
    const report = Buffer.from(JSON.stringify({ heardMs: this.random.int(-1000, 70_000) }));
    this.log.push(`${metaid} reports ${report}`);
    const verdict = reports.take(metaid, report);
    await this.cluster.settle();
    const has = await verdict;
    const way = `${metaid} ${worker}`;
    const isLate = this.clock.now() - (this.#refusedMs.get(way) ?? Number.NEGATIVE_INFINITY) <= 2 * REPORT_MS;
    if (has === 'too-often') this.#refusedMs.set(way, this.clock.now());
    // Where another process passes it on, those that were refused count there too (src/listener/README.md).
    if (has === 'too-often' && isLate && this.#ownerOf(metaid) !== worker) return true;
    const should = await this.one.reports.take(metaid, report);
    return has === should || t.equal(has, should, `report ${report}`);
  }

  #ownerOf(metaid: string): number | undefined {
    const model = this.one.sessions.playing(metaid);
    return this.sessions.find((twins) => twins.model === model)?.worker;
  }

  /** Shows what led here. */
  fail(t: Test): void {
    t.fail(`seed ${this.random.seed}\n${this.log.slice(process.env['SEED'] === undefined ? -25 : 0).join('\n')}`);
  }
}

function versionOf(message: Message | undefined): number {
  return message === undefined ? -1 : Number(JSON.parse(message.json).song.slice(1));
}

t.test('whatever happens where, each reader gets what it would get from one process', async (t) => {
  for (let i = 0; i < STORIES; i++) {
    const random = new Random();
    const story = new Story(random, random.int(2, 4));
    await story.cluster.settle();
    for (let step = 0; step < STEPS; step++) {
      story.step();
      await story.cluster.settle();
      if (!(await story.check(t)) || (random.chance(0.1) && !(await story.report(t)))) return story.fail(t);
    }
    if (process.env['SEED'] !== undefined) break;
  }
  t.pass('all stories');
});

t.test('where much is under way, and the hub or a link ends, readers have the last title in the end', async (t) => {
  for (let i = 0; i < STORIES; i++) {
    const random = new Random();
    const story = new Story(random, random.int(2, 4));
    const { cluster } = story;
    for (let step = 0; step < STEPS; step++) {
      story.step();
      if (random.chance(0.3)) await cluster.pass(random.int(1, 600));
      const event = random.next();
      if (event < 0.03) {
        story.log.push('hub restarts');
        cluster.restart();
      } else if (event < 0.12) {
        const worker = story.worker();
        story.log.push(`link of ${worker + 1} begins again`);
        cluster.cut(worker);
        cluster.join(worker);
      }
      // A reader that lacks a title has the next one: seen only before that comes.
      if (random.chance(0.1) && !(await story.checkSettled(t))) return story.fail(t);
    }
    if (!(await story.checkSettled(t))) return story.fail(t);
    if (process.env['SEED'] !== undefined) break;
  }
  t.pass('all stories');
});

/** A listener with metaid m in worker 1; what strangers do comes to worker 2. */
async function setUp(t: Test) {
  const clock = new FakeClock();
  let last = 0;
  const cluster = new SessionCluster(2, clock, () => ++last);
  const [owner, other] = cluster.workers;
  const session = owner!.sessions.open({ metaid: 'm', channel: 'one', mount: '/one' });
  session.player.begin(clock.now());
  session.player.write(60_000, 960_000, clock.now());
  session.begin(0, new Mark(viewOf('v1', { channel: 'one', version: 1 })), clock.now());
  await cluster.settle();
  t.equal(other!.shared!.count, 1);
  /** How much a worker has said to the hub. */
  const saidBy = (worker: number) => cluster.pipes[worker]!.worker.written;
  return { clock, cluster, owner: owner!, other: other!, session, saidBy };
}

t.test('polls of strangers cost the hub nothing, and those of a session elsewhere one question', async (t) => {
  const { clock, cluster, other, session, saidBy } = await setUp(t);
  const beforeBytes = saidBy(1);
  const unknown = Array.from({ length: 1000 }, (_, i) => other.directory.get(`unknown${i}`));
  t.same(new Set(unknown), new Set([undefined]));
  await cluster.settle();
  t.equal(saidBy(1), beforeBytes, 'nobody was asked');
  const polls = Array.from({ length: 1000 }, () => other.directory.get('m'));
  await cluster.settle();
  const polled = await Promise.all(polls);
  t.equal(new Set(polled).size, 1);
  t.match(JSON.parse(polled[0]!.now('audio')!.json), { rawdata: 'v1', mount: '/one' });
  const askedBytes = saidBy(1);
  t.ok(askedBytes - beforeBytes < 100, `${askedBytes - beforeBytes} bytes`);
  t.notOk(other.directory.get('m') instanceof Promise, 'now it is known here');
  await cluster.settle();
  t.equal(saidBy(1), askedBytes);
  const ownerBytes = saidBy(0);
  clock.advance(10_001);
  other.tidy();
  await cluster.settle();
  session.written(new Mark(viewOf('v2', { channel: 'one', version: 2 })), 1000, clock.now());
  await cluster.settle();
  t.equal(saidBy(0), ownerBytes, 'nobody reads it there any more: nothing is said');
});

t.test('reports that come too often go no further', async (t) => {
  const { cluster, other, owner, saidBy } = await setUp(t);
  const report = Buffer.from('{"heardMs":1000}');
  const verdicts = Array.from({ length: 100 }, () => other.reports.take('m', report));
  t.same(new Set(verdicts.slice(2)), new Set(['too-often']));
  await cluster.settle();
  t.same(await Promise.all(verdicts.slice(0, 2)), ['taken', 'taken']);
  const bytes = saidBy(1);
  t.equal(other.reports.take('m', report), 'too-often');
  t.equal(other.reports.take('unknown', report), 'not-playing');
  await cluster.settle();
  t.equal(saidBy(1), bytes);
  t.match(other.reports.counts, { taken: 2, 'too-often': 99, 'not-playing': 1 });
  t.match(owner.reports.counts, { taken: 0 }, 'counted once, where it came');
});

t.test('where the hub is away polls are told so, or get what is known; a watcher waits', async (t) => {
  const { clock, cluster, other, session } = await setUp(t);
  let verdict = '';
  void Promise.resolve(other.reports.take('m', Buffer.from('{"heardMs":1}'))).then((given) => {
    verdict = given;
  });
  cluster.cut(1);
  await untilPromised(() => verdict !== '', 1000);
  t.equal(verdict, 'not-playing', 'at once, where it was under way');
  await t.rejects(Promise.resolve(other.directory.get('m')), { message: /restarting/ });
  t.equal(await other.reports.take('m', Buffer.from('{"heardMs":1}')), 'not-playing');
  const { peer } = other.watch('m', 'audio');
  t.equal(peer.sent.length, 0);
  cluster.join(1);
  await cluster.settle();
  t.same(
    peer.sent.map(({ json }) => JSON.parse(json).rawdata),
    ['v1'],
  );
  cluster.cut(1);
  const known = await other.directory.get('m');
  t.equal(known?.id, session.id);
  // Whoever has it does not answer.
  cluster.join(1);
  cluster.pipes[1]!.hub.hold = true;
  await cluster.settle();
  t.equal((await other.directory.get('m'))?.id, session.id, 'what is known stays');
  clock.advance(2500);
  t.equal(other.directory.get('m'), undefined, 'and what the next hub does not say within two seconds is over');
});

t.test('a watcher that comes while a session is out of sight gets its title when it is back', async (t) => {
  const { cluster, other } = await setUp(t);
  const early = other.watch('m', 'audio');
  await cluster.settle();
  cluster.cut(0);
  await cluster.settle();
  t.equal(other.shared!.count, 0);
  const late = other.watch('m', 'audio');
  cluster.join(0);
  await cluster.settle();
  const given = [early, late].map(({ peer }) => peer.sent.map(({ json }) => JSON.parse(json).rawdata));
  t.same(given, [['v1'], ['v1']], 'and who had it does not again');
});

t.test(
  'a session that comes back over a link to another machine has a little other times there: it is polled as before',
  async (t) => {
    const { cluster, other, session } = await setUp(t);
    const { peer } = other.watch('m', 'audio');
    await cluster.settle();
    for (let i = 0; i < 3; i++) {
      cluster.cut(0);
      await cluster.settle();
      Object.assign(session, { sinceMs: session.sinceMs + 0.2 });
      cluster.join(0);
      await cluster.settle();
      t.equal((await other.directory.get('m'))?.id, session.id);
    }
    t.equal(peer.sent.length, 1, 'and its watcher is not given its title again');
  },
);

t.test('a title that watchers missed of a session that has ended they get of the next one', async (t) => {
  const { clock, cluster, owner, other, session } = await setUp(t);
  const { peer } = other.watch('m', 'audio');
  await cluster.settle();
  const v2 = new Mark(viewOf('v2', { channel: 'one', version: 2 }));
  const open = () => {
    const next = owner.sessions.open({ metaid: 'm', channel: 'one', mount: '/one' });
    next.player.begin(clock.now());
    next.begin(0, v2, clock.now());
    return next;
  };
  const relink = async () => {
    cluster.join(0);
    await cluster.settle();
    cluster.cut(0);
  };
  cluster.cut(0);
  session.written(v2, 0, clock.now());
  owner.sessions.close(session);
  await relink();
  const second = open();
  owner.sessions.close(second);
  await relink();
  t.equal(peer.sent.length, 1);
  open();
  await relink();
  t.same(
    peer.sent.map(({ json }) => JSON.parse(json).rawdata),
    ['v1', 'v2'],
  );
});

t.test('what a watcher waits for is followed until it goes', async (t) => {
  const { cluster, other } = await setUp(t);
  const before = cluster.registry.count;
  const { onGone } = other.watch('of-nobody', 'audio');
  await cluster.settle();
  t.equal(cluster.registry.count, before + 1);
  onGone();
  await cluster.settle();
  t.equal(cluster.registry.count, before);
});

t.test('each of two hubs, one soon after the other, has two seconds to say what is elsewhere', async (t) => {
  const { clock, cluster, other, session } = await setUp(t);
  await Promise.all([other.directory.get('m'), cluster.settle()]);
  for (const lateMs of [1900, 1900]) {
    for (const i of [0, 1]) cluster.cut(i);
    cluster.registry = new SessionRegistry();
    cluster.join(1);
    await cluster.settle();
    clock.advance(lateMs);
    t.equal((await other.directory.get('m'))?.id, session.id, 'until then what is known stays');
  }
  clock.advance(200);
  t.equal(other.directory.get('m'), undefined);
});

t.test('a poll does not wait for ever', async (t) => {
  const { clock, cluster, other } = await setUp(t);
  cluster.pipes[1]!.hub.hold = true;
  const polled = Promise.resolve(other.directory.get('m'));
  await cluster.settle();
  clock.advance(2100);
  await t.rejects(polled, { message: /restarting/ });
});
