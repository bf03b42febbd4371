/**
 * The links of all workers, at the hub. Every committed change goes to all of them in one order; a push is answered when all
 * workers have it, so that the client which pushed it reads it from any worker.
 *
 *   change ──► turn 8 ──► worker 1, worker 2 ──applied 8──► answer        a worker that is silent delays it (applied-turns.ts)
 */

import type { Duplex } from 'node:stream';
import type { HubQuestion } from '../admin/admin-queries.js';
import type { PlayableAudio } from '../audio/playable-audio.js';
import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import type { Tallies } from '../base/tallies.js';
import type { Channel } from '../channel/channel.js';
import type { ChannelFacts } from '../channel/channel-facts-schema.js';
import type { Sequence } from '../feed/sequence.js';
import { encode } from '../metadata/codec.js';
import type { TicketKeys } from '../net/tls/session-tickets.js';
import type { Change, ChannelState } from '../now-playing/state.js';
import type { MinuteFigures } from '../statistics/figures.js';
import type { States } from '../titles/engine.js';
import type { PushDecisions } from '../titles/push-decider.js';
import { AppliedTurns } from './applied-turns.js';
import { MAX_STATE_BYTES } from './control-messages.js';
import type {
  AskedHub,
  AskedProcess,
  FromHub,
  Question,
  Questions,
  SharedMessage,
  WorkerQuestions,
} from './control-schema.js';
import { FACTS_LOOK_MS, HubFacts } from './facts/hub-facts.js';
import { HubTallies } from './facts/hub-tallies.js';
import { systemMs } from './facts/shared-time.js';
import type { HlsOfChannels } from './hls/hls-sender.js';
import { HubLink, type HubLinkParts, type HubState } from './hub-link.js';
import { SessionRegistry } from './sessions/session-registry.js';
import { TapeNames } from './tapes/tape-names.js';
import { LeftAlone, workerOf } from './wire/left-alone.js';

export interface HubLinksParts {
  readonly clock: Clock;
  readonly channels: ReadonlyMap<string, Channel>;
  /** Channels whose titles workers must know, in configured order. */
  keys(): Iterable<string>;
  readonly states: States;
  /** The HLS of the channels, which workers copy. */
  readonly hls: HlsOfChannels;
  /** Decides the pushes of workers. */
  readonly decisions: PushDecisions;
  readonly sequence: Sequence;
  /** Audio and facts of a channel that another machine feeds; undefined: it is fed here. Absent: all are. */
  remoteAudio?(channel: string): { readonly audio: PlayableAudio; readonly facts: ChannelFacts } | undefined;
  /** Names of tapes that other processes have fed before. */
  readonly names?: TapeNames;
  /** This process's own part of the shared counts. */
  readonly tallies: Tallies;
  /** Maximum number of addresses whose notices wait for a worker that does not keep up. */
  readonly remembered: number;
  /** Maximum number of metaids of which one process may have sessions, or follow; and of keys in its counts. Absent: no limit. */
  maxMetaids?(): number;
  maxKeys?(): number;
  storeFault(): string | null;
  /** The statistics of a worker's listeners in one minute. Absent: they are not kept. */
  onFigures?(figures: MinuteFigures, worker: number): void;
  /** A worker has brought these keys of TLS tickets from an earlier hub. */
  onTickets?(tickets: TicketKeys): void;
  /** A worker has ended. */
  onGone?(): void;
  /**
   * The metrics of all processes. @param workers those of the workers that answered, in the format of prom-client @param linked all linked workers
   */
  metrics(workers: ReadonlyMap<number, unknown>, linked: ReadonlySet<number>): Promise<string>;
  /** The last metrics of a worker that exits. */
  onLastMetrics(worker: number, metrics: unknown): void;
  /** Answers a request of an operator to the hub alone. */
  onAdmin?(question: HubQuestion, ask: AskedHub['ask']): Promise<unknown>;
  /** The hub's own answer to a request to every process; undefined: none. */
  ownAnswer?(asked: AskedProcess): unknown;
  onError(error: unknown): void;
}

/** The handler of each request of a worker. */
type QuestionAnswers = { readonly [Q in Question]: (ask: Questions[Q]['ask']) => Promise<Questions[Q]['answer']> };

export class HubLinks implements AlarmHandler {
  /** The sessions of all workers. */
  readonly sessions: SessionRegistry;
  readonly #parts: HubLinksParts;
  readonly #links = new Set<HubLink>();
  readonly #alone: LeftAlone;
  readonly #linkParts: HubLinkParts;
  readonly #facts: HubFacts;
  readonly #turns: AppliedTurns;
  readonly #answers: QuestionAnswers = {
    push: ({ channel, input, connection }) => this.#applied(this.#parts.decisions.push(channel, input, connection)),
    withdraw: ({ channel, what }) => this.#applied(this.#parts.decisions.withdraw(channel, what)),
    title: async ({ channel, title, cameMs = systemMs() }) => {
      const encoder = this.#parts.channels.get(channel)?.served.encoder;
      return (await encoder?.sendTitle(title, Math.min(cameMs, systemMs()))) ?? false;
    },
    metrics: () => this.#metrics(),
    admin: async ({ question, ask }) => await this.#parts.onAdmin?.(question, ask),
    everywhere: (ask) => this.everywhere(ask),
  };
  readonly #shared = new Map<SharedMessage['type'], SharedMessage>();
  readonly #hub: HubState = { turn: 0, storeFault: null, aheadMs: null, shared: this.#shared };
  readonly #tallies: HubTallies;
  #alarm: Alarm;

  constructor(parts: HubLinksParts) {
    this.#parts = parts;
    const { clock, channels, states, sequence } = parts;
    this.#alone = new LeftAlone(clock);
    this.sessions = new SessionRegistry(parts.maxMetaids);
    this.#turns = new AppliedTurns(this.#links, clock);
    this.#facts = new HubFacts({ ...parts, send: (channel, facts) => this.#send({ type: 'facts', channel, facts }) });
    this.#alarm = clock.alarm(clock.now() + FACTS_LOOK_MS, this);
    const has = (channel: string) => channels.has(channel);
    this.#tallies = new HubTallies(parts.tallies, parts.remembered, clock, parts.maxKeys, has);
    this.#linkParts = {
      clock,
      names: parts.names ?? new TapeNames(),
      sessions: this.sessions,
      hls: parts.hls,
      audioOf: (channel): PlayableAudio | undefined =>
        parts.remoteAudio?.(channel)?.audio ?? channels.get(channel)?.audio,
      states: () => this.#states(states),
      hub: this.#hub,
      facts: () => this.#facts.now(),
      onFigures: ({ worker }, figures) => parts.onFigures?.(figures, worker),
      openStamps: () => sequence.open,
      onQuestion: (question, ask) => this.#answers[question](ask),
      onTickets: (tickets) => parts.onTickets?.(tickets),
      onGreeted: (link) => this.#tallies.enter(link),
      onLastMetrics: ({ worker }, metrics) => parts.onLastMetrics(worker, metrics),
      onTallies: (link, message) => this.#tallies.hear(link, message),
      onApplied: () => this.#turns.onApplied(),
      onEnded: (link) => {
        this.#links.delete(link);
        parts.onGone?.();
        this.#tallies.leave(link);
        this.#turns.onApplied();
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

  /** Sends a message to all workers, and to each that links later. */
  share(message: SharedMessage): void {
    this.#shared.set(message.type, message);
    this.#send(message);
  }

  /** Takes a worker's connection. */
  take(stream: Duplex): void {
    this.#links.add(new HubLink(stream, this.#linkParts));
  }

  /** Whether this change is short enough to be sent to workers. */
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

  /** Another source is on air, or connects. */
  sourceChanged(channel: string): void {
    this.#facts.sourceChanged(channel);
  }

  /** A reload has added and removed channels. Workers know new ones before they apply the configuration themselves. */
  refresh(added: readonly string[], removed: readonly string[]): void {
    for (const channel of removed) this.#facts.forget(channel);
    for (const channel of added) {
      this.#send({ type: 'state', channel, state: this.#parts.states.state(channel) });
      this.look(channel);
    }
  }

  /** The cluster time that this process follows has changed: it is sent to the workers. */
  shareTime(): void {
    this.#hub.aheadMs = this.#parts.clock.wallMs() - systemMs();
    this.#send({ type: 'time', aheadMs: this.#hub.aheadMs });
  }

  /** Sends the facts of a channel now, if they have changed. */
  look(channel: string): void {
    this.#facts.look(channel);
  }

  /** The shared counts, to which other machines contribute (cluster/cluster-counts.ts). */
  get counted(): HubTallies {
    return this.#tallies;
  }

  /** The tape of a channel continues in another audio, which `elsewhere` returns from now on. */
  moveTape(channel: string): void {
    for (const { tapes } of this.#links) tapes.move(channel);
    this.look(channel);
  }

  onAlarm(nowMs: number): void {
    this.#facts.lookAll();
    const fault = this.#parts.storeFault();
    if (fault !== this.#hub.storeFault) {
      this.#hub.storeFault = fault;
      this.#send({ type: 'store', fault });
    }
    this.#alarm = this.#parts.clock.alarm(this.#facts.nextLookMs(nowMs), this);
  }

  close(): void {
    this.#facts.close();
    this.#alarm.cancel();
    this.#tallies.close();
    for (const link of [...this.#links]) link.close();
  }

  *#states(states: States): Iterable<readonly [string, ChannelState]> {
    for (const channel of this.#parts.keys()) yield [channel, states.state(channel)];
  }

  #send(message: FromHub): void {
    if (this.#links.size === 0) return;
    const bytes = Buffer.from(encode(message));
    for (const link of this.#links) link.sendEncoded(bytes);
  }

  /** Resolves as `decided`, once the change is in force in every worker. */
  async #applied<T>(decided: Promise<T>): Promise<T> {
    const answer = await decided;
    await this.#turns.reached(this.#hub.turn);
    return answer;
  }

  /** The answers of all workers to an operator, without those that come too late. */
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
}
