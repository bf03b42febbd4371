/** Sessions, watchers and reports of several workers, joined by a registry over links without sockets, whose bytes a test delivers. */

import { setImmediate as turn } from 'node:timers/promises';
import { Feed, type Message, type Sync } from '../../src/feed/feed.js';
import type { Transport } from '../../src/http/watch/watch-connection.js';
import { Watchers } from '../../src/http/watch/watchers.js';
import { HubSessions } from '../../src/link/sessions/hub-sessions.js';
import { SessionRegistry } from '../../src/link/sessions/session-registry.js';
import { WorkerSessions } from '../../src/link/sessions/worker-sessions.js';
import { LinkConnection } from '../../src/link/wire/link-connection.js';
import { HeardReports } from '../../src/listener/sessions/heard-reports.js';
import { ListenerFeed } from '../../src/listener/sessions/listener-feed.js';
import type { SessionDirectory } from '../../src/listener/sessions/readable-session.js';
import { Sessions } from '../../src/listener/sessions/sessions.js';
import { SharedPlayers } from '../../src/listener/sessions/shared-players.js';
import { SharedSessions } from '../../src/listener/sessions/shared-sessions.js';
import type { RecordView } from '../../src/metadata/view.js';
import { Proxies } from '../../src/net/front/client-address.js';
import type { FakeClock } from './clock.js';
import { asStream, type LinkPipe, linkPipe } from './link-pipe.js';

export const CHANNELS = ['one', 'two'] as const;
export const KEEP_MS = 5000;
export const REPORT_MS = 1000;

/** A watcher's connection that is never slow. */
export class TakingPeer implements Transport {
  readonly direct = null;
  readonly open = true;
  readonly waiting = 0;
  readonly taken = 0;
  readonly received = 0;
  readonly maxReceived = 0;
  readonly alive = true;
  readonly sent: Message[] = [];

  send(message: Message): void {
    this.sent.push(message);
  }
  ping(): void {}
  close(): void {}
  cut(): void {}
}

/** The sessions of a process; it is the only process unless it joins. */
export class SessionProcess {
  readonly feed = new Feed();
  readonly listenerFeed: ListenerFeed;
  readonly sessions: Sessions;
  readonly shared: SharedSessions | null = null;
  readonly link: WorkerSessions | null = null;
  readonly players: SharedPlayers | null = null;
  readonly reports: HeardReports;
  readonly watchers: Watchers;

  /** @param sharedMs the time that all processes share */
  constructor(clock: FakeClock, sharedMs: () => number, worker = 0) {
    const onError = (error: unknown) => {
      throw error;
    };
    this.feed.change(
      new Map([['house', CHANNELS.map((key) => ({ key, name: '', station: 'house', timezone: 'UTC' }))]]),
    );
    const { feed } = this;
    if (worker > 0) {
      const link = new WorkerSessions(() => ({ shared: this.shared!, players: this.players!, reports: this.reports }));
      this.link = link;
      this.shared = new SharedSessions({ worker, sessions: () => this.sessions, feed, clock, link, onError });
      this.players = new SharedPlayers(worker, link, clock);
    }
    this.listenerFeed = new ListenerFeed(feed, this.shared);
    this.sessions = new Sessions(clock, this.listenerFeed, { keepMs: KEEP_MS, max: 1000, sharedMs }, this.shared);
    this.reports = new HeardReports(this.sessions, clock, () => REPORT_MS, this.shared);
    this.watchers = new Watchers(feed, this.directory, clock, {
      pingMs: 1e9,
      bufferBytes: 65_536,
      drainMs: 1e9,
      watchers: 1000,
      watchersPerAddress: 1000,
      frames: 9,
      proxies: new Proxies([], 'x-forwarded-for'),
      onError,
    });
  }

  get directory(): SessionDirectory {
    return this.shared ?? this.sessions;
  }

  watch(metaid: string, sync: Sync): { readonly peer: TakingPeer; onGone(): void } {
    const peer = new TakingPeer();
    const { onGone } = this.watchers.open(peer, '192.0.2.1', { target: { scope: 'listener', id: metaid }, sync });
    return { peer, onGone };
  }

  /** This process got a next track. */
  next(view: RecordView): void {
    this.feed.set(view.record.channel, 'next', view);
    this.listenerFeed.next(view, this.sessions);
  }

  /** Its work once a second. */
  tidy(): void {
    this.sessions.purge();
    this.shared?.tidy();
  }
}

export class SessionCluster {
  registry = new SessionRegistry();
  readonly workers: readonly SessionProcess[];
  readonly pipes: (LinkPipe | null)[];

  constructor(count: number, clock: FakeClock, sharedMs: () => number) {
    this.workers = Array.from({ length: count }, (_, i) => new SessionProcess(clock, sharedMs, i + 1));
    this.pipes = this.workers.map(() => null);
    for (const i of this.workers.keys()) this.join(i);
  }

  /** Links worker `i` to the hub. */
  join(i: number): void {
    const pipe = linkPipe();
    this.pipes[i] = pipe;
    const onBroken = (error: unknown) => {
      throw error;
    };
    const hub = new HubSessions(new LinkConnection(asStream(pipe.hub), onBroken), this.registry);
    const { link } = this.workers[i]!;
    const connection = new LinkConnection(asStream(pipe.worker), onBroken);
    link!.connect(connection);
    hub.begin(i + 1);
    link!.onReady();
  }

  cut(i: number): void {
    this.pipes[i]?.hub.destroy();
    this.pipes[i] = null;
  }

  /** Replaces the hub by a new one, which knows nothing. */
  restart(): void {
    for (const i of this.workers.keys()) this.cut(i);
    this.registry = new SessionRegistry();
    for (const i of this.workers.keys()) this.join(i);
  }

  /** Delivers some bytes. @param most maximum in one chunk */
  async pass(most = Number.POSITIVE_INFINITY): Promise<number> {
    await turn();
    let bytes = 0;
    for (const pipe of this.pipes) bytes += (pipe?.worker.deliver(most) ?? 0) + (pipe?.hub.deliver(most) ?? 0);
    return bytes;
  }

  /** Delivers all pending messages. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) quiet = (await this.pass()) === 0 ? quiet + 1 : 0;
  }
}
