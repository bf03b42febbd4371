/**
 * The load of the soak, at a rate that leaves the machine nearly idle: listeners, encoders, pushes, watchers, polls, reports, bad requests. It
 * checks all received data, and counts faults. Owned by bench/soak/run.ts.
 */

import { type Airsplice, track } from '../airsplice.js';
import { ListenerFeed } from '../listener-feed.js';
import { Requests } from '../requests.js';
import { stamp } from '../stamp.js';
import { ask } from './bad-requests.js';
import { Encoder } from './encoder.js';
import { Listeners } from './listeners.js';
import { aac, mp3 } from './sounds.js';

const PUSH_MS = 1_000;
const POLL_MS = 250;
const REPORT_MS = 500;
const BAD_MS = 5_000;
const WATCHER_MS = 2_000;
const LOOK_MS = 15_000;
/** Permanent watchers of each channel, half of them by WebSocket and half by SSE; others come and go. */
const STAYING_WATCHERS = 4;
const PASSING_WATCHERS = 6;
/** Durations of an encoder's connections. */
const STAYS_SECONDS = [71, 97] as const;
/** How far a player's position is behind the received audio. */
const AHEAD_MS = 2_000;
const MAX_FAULTS = 50;
const IDLE_SECONDS = 20;

/** The first has the demo's file as a fallback; the second waits for its encoder to reconnect. */
export const CHANNELS = {
  studio: [{ type: 'encoder', user: 'source', password: 'env:BENCH_TOKEN' }, 'file'],
  air: [{ type: 'encoder', user: 'source', password: 'env:BENCH_TOKEN', lingerSeconds: 30 }],
  demo: ['file'],
} as const;

export interface LifePlan {
  readonly server: Airsplice;
  /** Number of permanent listeners. */
  readonly listeners: number;
  readonly joinsPerSecond: number;
  /** Factor for the duration of an encoder's connections. */
  readonly encoderShare: number;
}

export class Life {
  readonly listeners: Listeners;
  readonly notes: string[] = [];
  readonly faults: string[] = [];
  faultCount = 0;
  badRequests = 0;
  watches = 0;
  readonly #server: Airsplice;
  readonly #requests: Requests;
  readonly #encoders: Encoder[] = [];
  readonly #staying: { readonly channel: string; readonly feed: ListenerFeed }[] = [];
  readonly #passing: ListenerFeed[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #asked = new Set<Promise<unknown>>();
  /** Channel → number of the last push of each kind. */
  readonly #pushed = new Map<string, { now: number; next: number }>();
  readonly #plan: LifePlan;
  #pushes = 0;
  #polls = 0;
  #reports = 0;

  constructor(plan: LifePlan) {
    const { server, listeners, joinsPerSecond } = plan;
    this.#plan = plan;
    this.#server = server;
    this.#requests = new Requests(server.port, 4);
    this.listeners = new Listeners({
      port: server.port,
      staying: listeners,
      joinsPerSecond,
      channels: Object.keys(CHANNELS),
      onFault: (text) => this.fault(text),
    });
  }

  get counts(): Readonly<Record<string, number>> {
    const { joins, ended } = this.listeners;
    return {
      joins,
      'stuck listeners ended': ended,
      pushes: this.#pushes,
      polls: this.#polls,
      reports: this.#reports,
      watchers: this.watches,
      'encoder connections': this.#encoders.reduce((all, { connections }) => all + connections, 0),
      'bad requests': this.badRequests,
    };
  }

  fault(text: string): void {
    this.faultCount++;
    if (this.faults.length < MAX_FAULTS) this.faults.push(`${new Date().toISOString().slice(11, 19)} ${text}`);
  }

  start(): void {
    const { port, token } = this.#server;
    for (const [index, [channel, sound]] of (
      [
        ['studio', mp3()],
        ['air', aac() ?? mp3()],
      ] as const
    ).entries())
      this.#encoders.push(
        new Encoder({
          port,
          channel,
          password: token,
          sound,
          staySeconds: STAYS_SECONDS[index]! * this.#plan.encoderShare,
          onFault: (text) => this.fault(text),
        }),
      );
    this.listeners.start();
    for (let i = 0; i < STAYING_WATCHERS * Object.keys(CHANNELS).length; i++) this.#staying.push(this.#watch(i));
    this.#each(PUSH_MS, (index) => this.#push(index));
    this.#each(POLL_MS, (index) => this.#poll(index));
    this.#each(REPORT_MS, (index) => this.#report(index));
    this.#each(BAD_MS, (index) => this.#ask(index));
    this.#each(WATCHER_MS, (index) => this.#pass(index));
    this.#each(LOOK_MS, () => this.listeners.look());
  }

  /** Disconnects all clients; resolves when all requests are answered. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#requests.idle(IDLE_SECONDS);
    await this.#watchersHave();
    for (const { channel, feed } of this.#staying) {
      if (feed.fault !== undefined || !feed.isOpen) this.fault(`watcher of ${channel}: ${feed.fault ?? 'not open'}`);
      const pushed = this.#pushed.get(channel);
      if (pushed !== undefined && feed.last.now !== pushed.now)
        this.fault(`watcher of ${channel}: title ${feed.last.now} of ${pushed.now}`);
      feed.close();
    }
    for (const feed of this.#passing) feed.close();
    this.listeners.stop();
    for (const encoder of this.#encoders) encoder.stop();
    if (this.#requests.wrong > 0) {
      this.fault(`a request: ${this.#requests.firstFault}`);
      this.faultCount += this.#requests.wrong - 1;
    }
    this.#requests.close();
    await Promise.all(this.#asked);
  }

  #each(ms: number, work: (index: number) => void): void {
    let index = 0;
    this.#timers.push(setInterval(() => work(index++), ms));
  }

  #push(index: number): void {
    const names = Object.keys(CHANNELS);
    const channel = names[index % names.length]!;
    const number = ++this.#pushes;
    const song = stamp(number);
    const isNext = index % 4 === 3;
    const body = isNext ? JSON.stringify({ ...JSON.parse(track(song)), tracktype: 'next' }) : track(song);
    const pushed = this.#pushed.get(channel) ?? { now: 0, next: 0 };
    pushed[isNext ? 'next' : 'now'] = number;
    this.#pushed.set(channel, pushed);
    const path = new URL(this.#server.pushUrl(channel)).pathname;
    this.#requests.send(
      `POST ${path}`,
      performance.now(),
      ({ status, body }) => status === 200 && body.includes(song),
      { body },
    );
  }

  #poll(index: number): void {
    this.#polls++;
    const names = Object.keys(CHANNELS);
    const channel = names[index % names.length]!;
    const session = this.listeners.sessions[index % Math.max(1, this.listeners.sessions.length)];
    const paths = [
      `/metadata/channel/${channel}.json`,
      session === undefined ? '/healthz' : `/metadata/listener/${session.metaid}.json`,
      '/status-json.xsl',
      `/metadata/channel/${channel}.json`,
      '/',
    ];
    this.#requests.send(
      `GET ${paths[index % paths.length]}`,
      performance.now(),
      ({ status }) => status === 200 || status === 204 || (status === 404 && index < 100),
    );
  }

  /** Reports a player's position: the received audio, minus its buffer. */
  #report(index: number): void {
    const { sessions } = this.listeners;
    const session = sessions[index % Math.max(1, sessions.length)];
    // At most one report per session and second.
    if (session === undefined || sessions.length < 4 || !session.listener.path.startsWith('/demo')) return;
    const heardMs = Math.floor(session.listener.sentMs) - AHEAD_MS;
    if (heardMs < 0) return;
    this.#reports++;
    this.#requests.send(
      `POST /metadata/listener/${session.metaid}/heard`,
      performance.now(),
      ({ status }) => status === 204,
      { body: JSON.stringify({ heardMs }) },
    );
  }

  #ask(index: number): void {
    this.badRequests++;
    const asked = ask(this.#server.port, index).then((wrong) => {
      this.#asked.delete(asked);
      if (wrong !== null) this.fault(`a bad request: ${wrong}`);
    });
    this.#asked.add(asked);
  }

  /** Adds a temporary watcher, and removes the oldest one. */
  #pass(index: number): void {
    const { channel, feed } = this.#watch(index);
    this.#passing.push(feed);
    if (this.#passing.length <= PASSING_WATCHERS) return;
    const oldest = this.#passing.shift()!;
    if (oldest.fault !== undefined || !oldest.isOpen)
      this.fault(`a watcher before that of ${channel}: ${oldest.fault ?? 'not open'}`);
    oldest.close();
  }

  #watch(index: number): { channel: string; feed: ListenerFeed } {
    this.watches++;
    const names = Object.keys(CHANNELS);
    const channel = names[index % names.length]!;
    const kind = Math.floor(index / names.length) % 2 === 0 ? 'websocket' : 'sse';
    return {
      channel,
      feed: new ListenerFeed({ host: '127.0.0.1', port: this.#server.port }, `channel/${channel}`, kind),
    };
  }

  /** Waits until permanent watchers have the last title, for a limited time. */
  async #watchersHave(): Promise<void> {
    const deadline = performance.now() + IDLE_SECONDS * 1000;
    const isBehind = () =>
      this.#staying.some(({ channel, feed }) => feed.last.now < (this.#pushed.get(channel)?.now ?? 0));
    while (isBehind() && performance.now() < deadline) await new Promise((done) => setTimeout(done, 50));
  }
}
