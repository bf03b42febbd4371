/**
 * The links of all workers, at the hub. Every committed change goes to all of them in one order; a push is answered when all
 * workers have it, so that its pusher finds it wherever it reads.
 *
 *   change ──► turn 8 ──► worker 1, worker 2 ──applied 8──► answer        one that does not say so holds it up no longer than APPLY_MS
 */

import type { Duplex } from 'node:stream';
import { type AdminState, type HubQuestion, NO_ADMIN_STATE } from '../admin/admin-reports.js';
import type { PlayableAudio } from '../audio/playable-audio.js';
import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import type { Tallies } from '../base/tallies.js';
import type { Channel } from '../channel/channel.js';
import type { Sequence } from '../feed/sequence.js';
import { encode } from '../metadata/codec.js';
import type { Change, ChannelState } from '../now-playing/state.js';
import type { MinuteFigures } from '../statistics/figures.js';
import type { DaySalt } from '../statistics/salts.js';
import type { States } from '../titles/engine.js';
import type { PushDecisions } from '../titles/push-decider.js';
import {
  type AskedProcess,
  type ChannelFacts,
  type FromHub,
  MAX_STATE_BYTES,
  type Question,
  type Questions,
  type WorkerQuestions,
} from './control.js';
import { areSame, factsOf } from './facts/channel-facts.js';
import { HubTallies } from './facts/hub-tallies.js';
import { systemMs } from './facts/shared-time.js';
import { TALLY_PASS_MS } from './facts/tally-messages.js';
import { HubLink, type HubLinkParts, type HubState } from './hub-link.js';
import { SessionRegistry } from './sessions/session-registry.js';
import { TapeNames } from './tapes/tape-names.js';
import { LeftAlone, workerOf } from './wire/left-alone.js';

/** How long an answer waits for workers. */
const APPLY_MS = 250;
/** How often facts are looked at that change by themselves; after a change of source sooner, until there is audio, or for SOON_FOR_MS. */
const LOOK_MS = 250;
const SOON_MS = 40;
const SOON_FOR_MS = 2000;

export interface HubLinksParts {
  readonly clock: Clock;
  readonly channels: ReadonlyMap<string, Channel>;
  /** Those whose titles workers must know, in configured order. */
  keys(): Iterable<string>;
  readonly states: States;
  /** What workers' pushes change. */
  readonly decisions: PushDecisions;
  readonly sequence: Sequence;
  /** Of a channel that another machine feeds: its audio here, and what is known of it; undefined: it is fed here. Absent: all are. */
  elsewhere?(channel: string): { readonly audio: PlayableAudio; readonly facts: ChannelFacts } | undefined;
  /** Of tapes that others have fed before. */
  readonly names?: TapeNames;
  /** What this process counts together with the workers. */
  readonly tallies: Tallies;
  /** Addresses of which something is remembered for a worker that does not keep up. */
  readonly remembered: number;
  /** Metaids that one process may have sessions of, or follow; keys that it may count by. Absent: any number. */
  mostMetaids?(): number;
  mostKeys?(): number;
  storeFault(): string | null;
  /** What a worker's listeners did in a minute. Absent: nothing is kept of it. */
  onFigures?(figures: MinuteFigures, worker: number): void;
  /** A worker is gone. */
  onGone?(): void;
  /** The metrics of all processes. @param workers what prom-client makes of theirs, of those that answered @param linked all that are there */
  metrics(workers: ReadonlyMap<number, unknown>, linked: ReadonlySet<number>): Promise<string>;
  /** A worker that ends says what it has counted. */
  onLastMetrics(worker: number, metrics: unknown): void;
  /** What an operator asks of the hub alone. */
  onAdmin?(question: HubQuestion, ask: unknown): Promise<unknown>;
  /** What the hub itself says to what every process is asked; undefined: nothing. */
  ownAnswer?(asked: AskedProcess): unknown;
  onError(error: unknown): void;
}

/** What a worker asks, by question. */
type QuestionAnswers = { readonly [Q in Question]: (ask: Questions[Q]['ask']) => Promise<Questions[Q]['answer']> };

/** An answer that waits until all workers have a change. */
interface WaitingAnswer {
  readonly turn: number;
  readonly resolve: () => void;
  readonly alarm: Alarm;
}

export class HubLinks implements AlarmHandler {
  /** Of all workers. */
  readonly sessions: SessionRegistry;
  readonly #parts: HubLinksParts;
  readonly #links = new Set<HubLink>();
  readonly #alone: LeftAlone;
  readonly #linkParts: HubLinkParts;
  readonly #facts = new Map<string, ChannelFacts>();
  readonly #waiting = new Set<WaitingAnswer>();
  /** Channels whose audio is about to begin → until when that is looked for, monotonic milliseconds. */
  readonly #beginning = new Map<string, number>();
  readonly #answers: QuestionAnswers = {
    push: ({ channel, input, connection }) => this.#applied(this.#parts.decisions.push(channel, input, connection)),
    withdraw: ({ channel, what }) => this.#applied(this.#parts.decisions.withdraw(channel, what)),
    title: async ({ channel, title }) => {
      const encoder = this.#parts.channels.get(channel)?.served.encoder;
      return (await encoder?.sendTitle(title)) ?? false;
    },
    metrics: () => this.#metrics(),
    admin: async ({ question, ask }) => await this.#parts.onAdmin?.(question, ask),
    everywhere: (ask) => this.everywhere(ask),
  };
  readonly #hub: HubState = { turn: 0, storeFault: null, salts: [], aheadMs: null, adminState: NO_ADMIN_STATE };
  readonly #tallies: HubTallies;
  #alarm: Alarm;
  #tallyAlarm: Alarm;

  constructor(parts: HubLinksParts) {
    this.#parts = parts;
    const { clock, channels, states, sequence } = parts;
    this.#alone = new LeftAlone(clock);
    this.sessions = new SessionRegistry(parts.mostMetaids);
    for (const [key, channel] of channels) this.#facts.set(key, this.#factsOf(channel));
    this.#alarm = clock.alarm(clock.now() + LOOK_MS, this);
    const has = (channel: string) => channels.has(channel);
    this.#tallies = new HubTallies(parts.tallies, parts.remembered, clock.now(), parts.mostKeys, has);
    this.#tallyAlarm = this.#passTallies(clock.now());
    this.#linkParts = {
      clock,
      names: parts.names ?? new TapeNames(),
      sessions: this.sessions,
      audioOf: (channel): PlayableAudio | undefined =>
        parts.elsewhere?.(channel)?.audio ?? channels.get(channel)?.audio,
      states: () => this.#states(states),
      hub: this.#hub,
      facts: () => {
        for (const channel of channels.keys()) this.look(channel);
        return this.#facts;
      },
      onFigures: ({ worker }, figures) => parts.onFigures?.(figures, worker),
      openStamps: () => sequence.open,
      onQuestion: (question, ask) => this.#answers[question](ask),
      onGreeted: (link) => this.#tallies.enter(link),
      onLastMetrics: ({ worker }, metrics) => parts.onLastMetrics(worker, metrics),
      onTallies: (link, message) => this.#tallies.hear(link, message),
      onApplied: () => this.#release(),
      onEnded: (link) => {
        this.#links.delete(link);
        parts.onGone?.();
        this.#tallies.leave(link);
        this.#release();
      },
      isLeftAlone: (worker) => this.#alone.has(workerOf(worker)),
      onBroken: (error) => {
        this.#alone.note(error);
        parts.onError(error);
      },
    };
  }

  /** How many workers are linked. */
  get count(): number {
    let count = 0;
    for (const { worker } of this.#links) if (worker !== 0) count++;
    return count;
  }

  /** What an operator has blocked and made, for all workers. */
  setAdminState(state: AdminState): void {
    this.#hub.adminState = state;
    this.#send({ type: 'admin', state });
  }

  /** Takes a worker's connection. */
  take(stream: Duplex): void {
    this.#links.add(new HubLink(stream, this.#linkParts));
  }

  /** Whether workers can be sent this change. */
  fits({ state }: Change): boolean {
    return Buffer.byteLength(encode(state)) <= MAX_STATE_BYTES;
  }

  /** A committed change, while it is delivered. */
  onChange(channel: string, { state, record }: Change): void {
    const { sequence } = this.#parts;
    this.#hub.turn++;
    if (record?.stamp !== undefined) sequence.publish(record.stamp);
    const change = { state, record };
    this.#send({ type: 'change', turn: this.#hub.turn, channel, change, open: sequence.open });
  }

  /**
   * Another source is on air, or comes: what changes is sent at once, when the channel has done what follows from it. Before, there may be no source
   * that is hoped for, and who comes in that moment would be sent away.
   */
  sourceChanged(channel: string): void {
    queueMicrotask(() => this.look(channel));
    const { clock } = this.#parts;
    if (this.#beginning.size === 0) clock.alarm(clock.now() + SOON_MS, { onAlarm: (nowMs) => this.#lookAgain(nowMs) });
    this.#beginning.set(channel, clock.now() + SOON_FOR_MS);
  }

  /** Channels have come and gone in place. Workers hear of those that are new before they themselves put that configuration in force. */
  refresh(added: readonly string[], removed: readonly string[]): void {
    for (const channel of removed) {
      this.#facts.delete(channel);
      this.#beginning.delete(channel);
    }
    for (const channel of added) {
      this.#send({ type: 'state', channel, state: this.#parts.states.state(channel) });
      this.look(channel);
    }
  }

  /** The time that this process follows has changed: the workers are sent it. */
  shareTime(): void {
    this.#hub.aheadMs = this.#parts.clock.wallMs() - systemMs();
    this.#send({ type: 'time', aheadMs: this.#hub.aheadMs });
  }

  /** By these all workers count unique listeners from now on. */
  setSalts(salts: readonly DaySalt[]): void {
    this.#hub.salts = salts;
    this.#send({ type: 'salts', salts });
  }

  /** Sends at once what has changed of a channel. */
  look(channel: string): void {
    const found = this.#parts.channels.get(channel);
    // It has gone meanwhile.
    if (found === undefined) return;
    const facts = this.#factsOf(found);
    const last = this.#facts.get(channel);
    if (last !== undefined && areSame(last, facts)) return;
    this.#facts.set(channel, facts);
    this.#send({ type: 'facts', channel, facts });
  }

  /** What all processes count together: other machines take part for what they say (cluster/cluster-counts.ts). */
  get counted(): HubTallies {
    return this.#tallies;
  }

  /** The tape of a channel goes on in another audio, which `elsewhere` gives from now on. */
  moveTape(channel: string): void {
    for (const { tapes } of this.#links) tapes.move(channel);
    this.look(channel);
  }

  #factsOf(channel: Channel): ChannelFacts {
    return this.#parts.elsewhere?.(channel.key)?.facts ?? factsOf(channel, this.#parts.clock);
  }

  onAlarm(nowMs: number): void {
    for (const channel of this.#parts.channels.keys()) this.look(channel);
    const fault = this.#parts.storeFault();
    if (fault !== this.#hub.storeFault) {
      this.#hub.storeFault = fault;
      this.#send({ type: 'store', fault });
    }
    this.#alarm = this.#parts.clock.alarm(nowMs + LOOK_MS, this);
  }

  #lookAgain(nowMs: number): void {
    for (const [channel, untilMs] of this.#beginning) {
      this.look(channel);
      if (this.#facts.get(channel)?.hasSegments !== false || nowMs > untilMs) this.#beginning.delete(channel);
    }
    const again: AlarmHandler = { onAlarm: (laterMs) => this.#lookAgain(laterMs) };
    if (this.#beginning.size > 0) this.#parts.clock.alarm(nowMs + SOON_MS, again);
  }

  close(): void {
    this.#beginning.clear();
    this.#alarm.cancel();
    this.#tallyAlarm.cancel();
    for (const link of [...this.#links]) link.close();
  }

  *#states(states: States): Iterable<readonly [string, ChannelState]> {
    for (const channel of this.#parts.keys()) yield [channel, states.state(channel)];
  }

  #passTallies(nowMs: number): Alarm {
    this.#tallies.pass(nowMs);
    const onAlarm = (laterMs: number) => {
      this.#tallyAlarm = this.#passTallies(laterMs);
    };
    return this.#parts.clock.alarm(nowMs + TALLY_PASS_MS, { onAlarm });
  }

  #send(message: FromHub): void {
    if (this.#links.size === 0) return;
    const bytes = Buffer.from(encode(message));
    for (const link of this.#links) link.sendEncoded(bytes);
  }

  /** Resolves as `decided` when all workers have what it changed. */
  async #applied<T>(decided: Promise<T>): Promise<T> {
    const answer = await decided;
    await this.#settled(this.#hub.turn);
    return answer;
  }

  /** What all workers answer to an operator, those that do not in time apart. */
  async everywhere(ask: AskedProcess): Promise<readonly unknown[]> {
    const { answers } = await this.#askAll('admin', ask);
    const own = this.#parts.ownAnswer?.(ask);
    return [...answers.values(), own ?? null].filter((answer) => answer !== null);
  }

  async #metrics(): Promise<string> {
    const { answers, linked } = await this.#askAll('metrics', null);
    return this.#parts.metrics(answers, linked);
  }

  async #askAll<Q extends keyof WorkerQuestions>(question: Q, ask: WorkerQuestions[Q]['ask']) {
    const answers = new Map<number, WorkerQuestions[Q]['answer']>();
    const greeted = [...this.#links].filter(({ worker }) => worker !== 0);
    const asked = greeted.map((link) =>
      link.ask(question, ask).then((answer) => void answers.set(link.worker, answer)),
    );
    await Promise.allSettled(asked);
    return { answers, linked: new Set(greeted.map(({ worker }) => worker)) };
  }

  /** Resolves when all workers have this change, or after APPLY_MS. */
  #settled(turn: number): Promise<void> {
    if (this.#isApplied(turn)) return Promise.resolve();
    const { clock } = this.#parts;
    return new Promise((resolve) => {
      const end = () => {
        this.#waiting.delete(waiting);
        waiting.alarm.cancel();
        resolve();
      };
      const alarm = clock.alarm(clock.now() + APPLY_MS, { onAlarm: end });
      const waiting = { turn, resolve: end, alarm };
      this.#waiting.add(waiting);
    });
  }

  #isApplied(turn: number): boolean {
    for (const link of this.#links) if (link.worker !== 0 && link.applied < turn) return false;
    return true;
  }

  #release(): void {
    for (const waiting of this.#waiting) if (this.#isApplied(waiting.turn)) waiting.resolve();
  }
}
