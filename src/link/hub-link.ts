/**
 * One worker's link, at the hub: sends its tapes, the channels' states and facts, and every change; answers what it asks. Owned by HubLinks.
 */

import type { Duplex } from 'node:stream';
import { Refusal } from '../base/refusal.js';
import { Requests } from '../base/requests.js';
import type { ChannelFacts } from '../channel/channel-facts-schema.js';
import type { TicketKeys } from '../net/tls/session-tickets.js';
import type { ChannelState } from '../now-playing/state.js';
import type { MinuteFigures } from '../statistics/figures.js';
import { Control, type ControlHandler } from './control-messages.js';
import {
  type FromHub,
  type FromWorker,
  type Question,
  type Questions,
  readAnswer,
  readAsk,
  readFromWorker,
  type SharedMessage,
  type WorkerQuestions,
} from './control-schema.js';
import type { TallyMessage } from './facts/tally-messages.js';
import { type HlsOfChannels, HlsSender } from './hls/hls-sender.js';
import { LinkLost, refusedAnswer } from './question-errors.js';
import { HubSessions } from './sessions/hub-sessions.js';
import type { SessionRegistry } from './sessions/session-registry.js';
import { TapeSender, type TapeSenderParts } from './tapes/tape-sender.js';
import { workerOf } from './wire/left-alone.js';
import { LinkConnection } from './wire/link-connection.js';
import { WireError } from './wire/wire.js';

/** Time-out for the answer of a worker. */
const ANSWER_MS = 1000;

/** State of the hub that all workers know: sent to a worker when it links, and to all after a change. */
export interface HubState {
  /** The number of the last change. */
  turn: number;
  storeFault: string | null;
  /** The time of the cluster (control-messages.ts); null: each process goes by the wall clock. */
  aheadMs: number | null;
  /** By type. */
  readonly shared: ReadonlyMap<SharedMessage['type'], SharedMessage>;
}

export interface HubLinkParts extends TapeSenderParts {
  /** The channels' states, in configured order. */
  states(): Iterable<readonly [channel: string, state: ChannelState]>;
  facts(): Iterable<readonly [channel: string, facts: ChannelFacts]>;
  /** The present state, sent to a worker when it links. */
  readonly hub: Readonly<HubState>;
  /** Stamps that are issued and not published yet. */
  openStamps(): readonly number[];
  onFigures(link: HubLink, figures: MinuteFigures): void;
  readonly sessions: SessionRegistry;
  readonly hls: HlsOfChannels;
  /** Rejects with a Refusal. */
  onQuestion<Q extends Question>(question: Q, ask: Questions[Q]['ask']): Promise<Questions[Q]['answer']>;
  /** Whether links of this worker are refused for now, after a bad message. */
  isLeftAlone(worker: number): boolean;
  /** A worker has brought the keys of TLS tickets of an earlier hub. */
  onTickets(tickets: TicketKeys): void;
  /** Its `hello` has arrived. */
  onGreeted(link: HubLink): void;
  onTallies(link: HubLink, message: TallyMessage): void;
  onLastMetrics(link: HubLink, metrics: unknown): void;
  onApplied(link: HubLink): void;
  /** It has ended. */
  onEnded(link: HubLink): void;
  /** Called with the fault that has broken a link, or a request. */
  onBroken(error: unknown): void;
}

export class HubLink implements ControlHandler<FromWorker> {
  /** Its number; 0: its `hello` has not arrived yet. */
  worker = 0;
  /** All changes up to this number are in force at the worker. */
  applied = 0;
  readonly tapes: TapeSender;
  readonly #parts: HubLinkParts;
  readonly #connection: LinkConnection;
  readonly #control: Control<FromWorker, FromHub>;
  readonly #questions = new Requests();
  readonly #sessions: HubSessions;

  constructor(stream: Duplex, parts: HubLinkParts) {
    this.#parts = parts;
    this.#connection = new LinkConnection(stream, parts.onBroken, { peer: 'a worker' });
    this.tapes = new TapeSender(this.#connection, parts);
    new HlsSender(this.#connection, parts.hls);
    this.#control = new Control(this.#connection, this, readFromWorker);
    this.#sessions = new HubSessions(this.#connection, parts.sessions);
  }

  /** False: it is too long to be sent. */
  send(message: FromHub): boolean {
    return this.worker === 0 || this.#control.send(message);
  }

  /** As Control has it. */
  sendEncoded(bytes: Buffer): void {
    if (this.worker !== 0) this.#control.sendEncoded(bytes);
  }

  /** Whether the worker does not keep up. */
  get isFull(): boolean {
    return this.#connection.isFull;
  }

  /** Rejects if the worker ends, or does not answer in time. */
  ask<Q extends keyof WorkerQuestions>(
    question: Q,
    ask: WorkerQuestions[Q]['ask'],
  ): Promise<WorkerQuestions[Q]['answer']> {
    const read = (answer: unknown) => readAnswer(question, ask, answer);
    return this.#questions.ask((id) => this.send({ type: 'ask', id, question, ask }), { timeoutMs: ANSWER_MS, read });
  }

  close(): void {
    this.#connection.close();
  }

  onControl(message: FromWorker): void {
    if (message.type === 'hello') {
      if (this.worker !== 0) throw new WireError('a second hello');
      if (message.tickets !== null) this.#parts.onTickets(message.tickets);
      this.#greet(message.worker);
    } else if (this.worker === 0) throw new WireError('the first message of a worker must identify it');
    else if (message.type === 'tallies') this.#parts.onTallies(this, message);
    else if (message.type === 'figures') this.#parts.onFigures(this, message.figures);
    else if (message.type === 'metrics') this.#parts.onLastMetrics(this, message.metrics);
    else if (message.type === 'applied') {
      this.applied = message.turn;
      this.#parts.onApplied(this);
    } else if (message.type === 'ask') void this.#answer(message.id, message.question, message.ask);
    else this.#onAnswer(message.id, message.answer);
  }

  onClosed(): void {
    this.#questions.lose(new LinkLost());
    this.#parts.onEnded(this);
  }

  #greet(worker: number): void {
    const { turn, storeFault, aheadMs, shared } = this.#parts.hub;
    if (this.#parts.isLeftAlone(worker)) {
      this.close();
      return;
    }
    this.worker = worker;
    this.#connection.peer = workerOf(worker);
    this.applied = turn;
    this.#connection.cork();
    if (aheadMs !== null) this.send({ type: 'time', aheadMs });
    for (const [channel, state] of this.#parts.states()) this.send({ type: 'state', channel, state });
    for (const [channel, facts] of this.#parts.facts()) this.send({ type: 'facts', channel, facts });
    this.send({ type: 'store', fault: storeFault });
    for (const message of shared.values()) this.send(message);
    this.send({ type: 'ready', turn, open: this.#parts.openStamps() });
    this.#sessions.begin(worker);
    this.#connection.uncork();
    this.#parts.onGreeted(this);
  }

  /** A malformed answer fails its request alone. */
  #onAnswer(id: number, answer: unknown): void {
    try {
      this.#questions.answer(id, answer);
    } catch (error) {
      this.#parts.onBroken(error);
      this.#questions.fail(id, error);
    }
  }

  /** Its arguments come from one client: if they are refused, the link stays, which serves all others. */
  async #answer(id: number, question: Question, ask: unknown): Promise<void> {
    try {
      const answer = await this.#parts.onQuestion(question, readAsk(question, ask));
      if (!this.send({ type: 'answer', id, answer })) throw new Error('an answer is longer than a message may be');
    } catch (error) {
      if (!(error instanceof Refusal)) this.#parts.onBroken(error);
      this.send({ type: 'refused', id, refusal: refusedAnswer(error) });
    }
  }
}
