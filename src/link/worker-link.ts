/**
 * The link to the hub, at a worker: the audio, titles and facts of its channels, and its requests. It outlives the hub: when the link ends, it waits
 * for the next hub and resumes there.
 *
 *   connected ──► hello ──► states, facts ──► ready ──► subscriptions, changes …        ready: clients may come
 */

import type { Duplex } from 'node:stream';
import type { ProcessQuestion } from '../admin/admin-schema.js';
import type { Clock } from '../base/clock.js';
import type { Tallies } from '../base/tallies.js';
import { type ChannelFacts, withMoments } from '../channel/channel-facts-schema.js';
import type { Sequence } from '../feed/sequence.js';
import type { TicketKeys } from '../net/tls/session-tickets.js';
import type { MinuteFigures } from '../statistics/figures.js';
import type { Deliver } from '../titles/engine.js';
import { Control, type ControlHandler } from './control-messages.js';
import {
  type AskedProcess,
  type FromHub,
  type FromWorker,
  type Question,
  type Questions,
  readFromHub,
  type SharedMessage,
  type WorkerQuestions,
} from './control-schema.js';
import { type LinkedLive, linkedLive } from './facts/channel-facts.js';
import { followTime, ownMs } from './facts/shared-time.js';
import { WorkerTallies } from './facts/worker-tallies.js';
import { HlsReceiver } from './hls/hls-receiver.js';
import { HubRequests } from './hub-requests.js';
import { type SessionTarget, WorkerSessions } from './sessions/worker-sessions.js';
import type { LinkedAudio } from './tapes/linked-audio.js';
import { offerTapes } from './tapes/tape-offer.js';
import { TapeReceiver } from './tapes/tape-receiver.js';
import { LeftAlone } from './wire/left-alone.js';
import { LinkConnection } from './wire/link-connection.js';
import { OtherVersion } from './wire/link-version.js';
import { WorkerTitles } from './worker-titles.js';

/** How long a tape is taken after its last listener has left, for listeners who return. */
const LINGER_MS = 10_000;
const HUB = 'the hub';
/** Maximum number of minutes whose statistics wait for a hub. */
const MINUTES = 10;

export interface WorkerLinkParts {
  /** The number of this process, unique during the life of the server. */
  readonly worker: number;
  readonly clock: Clock;
  readonly sequence: Sequence;
  /** This process's part of the shared counts. */
  readonly tallies: Tallies;
  /** Maximum length of the part of a tape that is kept. */
  maxLagMs?(): number;
  deliver: Deliver;
  /** The states of a hub are known: of the first one, or of another. */
  onReady(): void;
  /** The metrics of this process, in the format of prom-client. */
  metrics(): Promise<unknown>;
  /** State that all processes share has come: before the first client is served, and after each change. */
  onShared?(message: SharedMessage): void;
  /** The keys of TLS tickets, which the next hub continues to use; null: none are known yet. */
  tickets?(): TicketKeys | null;
  /** See WorkerSessions. Absent: this process has no sessions. */
  sessions?(): SessionTarget | null;
  /** Answers a request of an operator to this process. */
  onAdmin?(question: ProcessQuestion, ask: AskedProcess['ask']): unknown;
  /** The hub speaks another version of the link, and the connection ends. */
  onOtherVersion(error: OtherVersion): void;
  onError(error: unknown): void;
}

export class WorkerLink implements ControlHandler<FromHub> {
  readonly titles: WorkerTitles;
  readonly sessions: WorkerSessions;
  readonly hls: HlsReceiver;
  /** Why the store cannot be used; null: it works. */
  storeFault: string | null = null;
  readonly #parts: WorkerLinkParts;
  readonly #tapes: TapeReceiver;
  readonly #tallies: WorkerTallies;
  readonly #alone: LeftAlone;
  readonly #lives = new Map<string, LinkedLive>();
  readonly #requests: HubRequests;
  #control: Control<FromHub, FromWorker> | null = null;
  #connection: LinkConnection | null = null;
  /** Statistics of minutes without a hub. */
  #figures: MinuteFigures[] = [];

  constructor(parts: WorkerLinkParts) {
    this.#parts = parts;
    this.#alone = new LeftAlone(parts.clock);
    this.sessions = new WorkerSessions(() => parts.sessions?.() ?? null);
    this.#tapes = new TapeReceiver(parts.clock, LINGER_MS, undefined, parts.maxLagMs, parts.onError);
    this.#tallies = new WorkerTallies(parts.tallies, parts.clock);
    this.hls = new HlsReceiver(undefined, { clock: parts.clock, onBad: parts.onError });
    this.#requests = new HubRequests(parts.clock, (message) => this.#control?.send(message) ?? null);
    this.titles = new WorkerTitles((question, ask) => this.ask(question, ask));
  }

  /** Whether there is a hub whose states are known. */
  get isReady(): boolean {
    return this.#requests.isReady;
  }

  /** Resolves when there is a hub whose states are known. */
  ready(): Promise<void> {
    return this.#requests.ready();
  }

  /** The audio of a channel, always the same one. */
  audio(channel: string): LinkedAudio {
    return this.#tapes.audio(channel);
  }

  /** A channel's facts, always the same object. */
  live(channel: string): LinkedLive {
    let live = this.#lives.get(channel);
    if (live === undefined) this.#lives.set(channel, (live = linkedLive(this.#parts.clock)));
    return live;
  }

  /** Resolves when the hub has sent the states of these channels; at once without a hub, as the next one sends them first. */
  async known(channels: readonly string[]): Promise<void> {
    if (this.isReady) await Promise.all(channels.map((channel) => this.titles.known(channel)));
  }

  /** These channels were removed from the configuration. */
  forget(channels: readonly string[]): void {
    for (const channel of channels) {
      this.titles.forget(channel);
      this.#tapes.forget(channel);
      this.#lives.delete(channel);
    }
  }

  /** How long no link to the hub may be opened after a bad message from it, milliseconds. */
  get leftAloneMs(): number {
    return this.#alone.leftMs(HUB);
  }

  /** Links to the hub over this connection; the one before has ended. @param onEnded called once */
  connect(stream: Duplex, onEnded: () => void): void {
    const { onError, onOtherVersion } = this.#parts;
    const onBroken = (error: unknown) => {
      this.#alone.note(error);
      if (error instanceof OtherVersion) onOtherVersion(error);
      else onError(error);
    };
    const connection = new LinkConnection(stream, onBroken, { peer: HUB });
    const handler: ControlHandler<FromHub> = {
      onControl: (message) => this.onControl(message),
      onClosed: () => {
        this.onClosed();
        onEnded();
      },
    };
    this.#control = new Control<FromHub, FromWorker>(connection, handler, readFromHub);
    this.#connection = connection;
    this.sessions.connect(connection);
    const control = this.#control;
    control.send({ type: 'hello', worker: this.#parts.worker, tickets: this.#parts.tickets?.() ?? null });
    this.#tallies.connect({
      get isFull() {
        return connection.isFull;
      },
      send: (message) => control.send(message),
    });
  }

  /** Offers the tapes of the former hub to the next one. @param stream to the next hub */
  offerTapes(stream: Duplex): void {
    offerTapes(stream, this.#tapes.offered(), this.#parts.clock, this.#parts.onError);
  }

  /** See HubRequests. */
  ask<Q extends Question>(question: Q, ask: Questions[Q]['ask']): Promise<Questions[Q]['answer']> {
    return this.#requests.ask(question, ask);
  }

  /** Sends the last metrics of this process, which is about to exit. */
  async leave(): Promise<void> {
    const metrics = await this.#parts.metrics();
    this.#control?.send({ type: 'metrics', metrics });
  }

  /** Sends the statistics of one minute. While the hub is away they wait, up to MINUTES of them. */
  sendFigures(figures: MinuteFigures): void {
    this.#figures.push(figures);
    this.#figures.splice(0, this.#figures.length - MINUTES);
    if (this.isReady) this.#sayFigures();
  }

  onControl(message: FromHub): void {
    switch (message.type) {
      case 'state':
        this.titles.set(message.channel, message.state);
        break;
      case 'facts':
        this.#onFacts(message.channel, message.facts);
        break;
      case 'time':
        followTime(this.#parts.clock, message.aheadMs);
        break;
      case 'salts':
      case 'tickets':
      case 'admin':
        this.#parts.onShared?.(message);
        break;
      case 'store':
        this.storeFault = message.fault;
        break;
      case 'ready':
        this.#onReady(message.open);
        break;
      case 'change':
        this.#onChange(message);
        break;
      case 'answer':
        this.#requests.onAnswer(message.id, message.answer);
        break;
      case 'refused':
        this.#requests.onRefused(message.id, message.refusal);
        break;
      case 'tallies':
        this.#tallies.onMessage(message);
        break;
      case 'ask':
        void this.#answer(message.id, message.question, message.ask);
    }
  }

  onClosed(): void {
    this.#control = null;
    this.#connection = null;
    this.#tallies.lose();
    this.#requests.onLost();
    this.titles.onLost();
  }

  #sayFigures(): void {
    for (const figures of this.#figures.splice(0)) this.#control?.send({ type: 'figures', figures });
  }

  #onFacts(channel: string, sent: ChannelFacts): void {
    const facts = withMoments(sent, (ms) => ownMs(this.#parts.clock, ms));
    this.live(channel).set(facts);
    this.audio(channel).setFacts(facts);
  }

  #onReady(open: readonly number[]): void {
    this.#parts.sequence.setRemote(open);
    this.#requests.onReady();
    this.#sayFigures();
    this.#tapes.connect(this.#connection!);
    this.hls.connect(this.#connection!);
    this.#parts.onReady();
    this.sessions.onReady();
  }

  #onChange({ turn, channel, change, open }: Extract<FromHub, { type: 'change' }>): void {
    this.#parts.sequence.setRemote(open);
    this.titles.set(channel, change.state);
    this.#parts.deliver(channel, { ...change, history: [] });
    this.#control?.send({ type: 'applied', turn });
  }

  async #answer(id: number, question: keyof WorkerQuestions, ask: unknown): Promise<void> {
    const asked = ask as AskedProcess;
    const answer = question === 'metrics' ? await this.#parts.metrics() : await this.#answerAdmin(asked);
    this.#control?.send({ type: 'answer', id, answer });
  }

  /** Null: it failed. */
  async #answerAdmin({ question, ask }: AskedProcess): Promise<unknown> {
    try {
      return (await this.#parts.onAdmin?.(question, ask)) ?? null;
    } catch (error) {
      this.#parts.onError(error);
      return null;
    }
  }
}
