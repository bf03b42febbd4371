/**
 * The messages of a link that are not of tapes or sessions: plain data (metadata/codec.ts), in order. A message that cannot be read closes the link,
 * and has no other effect. What each says: README.md.
 */

import type {
  AdminState,
  HubQuestion,
  HubQuestions,
  ProcessQuestion,
  ProcessQuestions,
} from '../admin/admin-reports.js';
import { encode, parse } from '../metadata/codec.js';
import type { PushInput } from '../metadata/push-input.js';
import type { TicketKeys } from '../net/tls/session-tickets.js';
import type { Change, ChannelState } from '../now-playing/state.js';
import type { SourceTitle } from '../source/source.js';
import type { MinuteFigures } from '../statistics/figures.js';
import type { DaySalt } from '../statistics/salts.js';
import type { DecidedPush, Withdrawal } from '../titles/push-decider.js';
import type { ChannelFacts } from './facts/facts-schema.js';
import type { LastMetrics, TallyMessage } from './facts/tally-messages.js';
import type { LinkConnection, MessageHandler } from './wire/link-connection.js';
import { CONTROL } from './wire/message-types.js';
import { MAX_MESSAGE_BYTES, type MessageReader, WireError } from './wire/wire.js';

/** The length that precedes the text of a message. */
const LENGTH_BYTES = 4;
/** Maximum size of a channel's encoded state: a change is sent with its record beside the state. */
export const MAX_STATE_BYTES = MAX_MESSAGE_BYTES / 2;

/** Requests of a worker to the hub, and their answers. */
export interface Questions {
  /** Sets an encoder's title. Answer: whether an encoder feeds the channel. */
  title: { readonly ask: AskedTitle; readonly answer: boolean };
  /** The metrics of all processes, in the text format of Prometheus. */
  metrics: { readonly ask: null; readonly answer: string };
  /** A request of an operator to the hub (admin/admin-reports.ts). */
  admin: { readonly ask: AskedHub; readonly answer: unknown };
  /** A request of an operator to every process, with the list of their answers. */
  everywhere: { readonly ask: AskedProcess; readonly answer: readonly unknown[] };
  /** A push, and the withdrawal of one: the hub decides (titles/push-decider.ts). */
  push: { readonly ask: AskedPush; readonly answer: DecidedPush };
  withdraw: { readonly ask: { readonly channel: string; readonly what: Withdrawal }; readonly answer: boolean };
}
export interface AskedTitle {
  readonly channel: string;
  readonly title: SourceTitle;
  /** As EncoderMount has it; absent: now. */
  readonly cameMs?: number | undefined;
}
export interface AskedPush {
  readonly channel: string;
  readonly input: PushInput;
  readonly connection?: string | undefined;
}
export interface AskedHub {
  readonly question: HubQuestion;
  readonly ask: HubQuestions[HubQuestion]['ask'];
}
export interface AskedProcess {
  readonly question: ProcessQuestion;
  readonly ask: ProcessQuestions[ProcessQuestion]['ask'];
}
export type Question = keyof Questions;

/** Requests of the hub to a worker. */
export interface WorkerQuestions {
  /** Its metrics, in the format of prom-client. */
  metrics: { readonly ask: null; readonly answer: unknown };
  /** A request of an operator. */
  admin: { readonly ask: AskedProcess; readonly answer: unknown };
}

/** A refusal, as plain data. */
export interface RefusedAnswer {
  readonly kind: string;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type FromWorker =
  | TallyMessage
  | LastMetrics
  /** With the keys of TLS tickets of the former hub; null: none. */
  | { readonly type: 'hello'; readonly worker: number; readonly tickets: TicketKeys | null }
  /** The statistics of its listeners in one minute. */
  | { readonly type: 'figures'; readonly figures: MinuteFigures }
  | { readonly type: 'ask'; readonly id: number; readonly question: Question; readonly ask: unknown }
  | { readonly type: 'answer'; readonly id: number; readonly answer: unknown }
  /** All changes up to this number are in force at the worker. */
  | { readonly type: 'applied'; readonly turn: number };

/** What all workers have to know: when the link begins, and after each change. */
export type SharedMessage =
  /** The salts of today and tomorrow, by which all processes count unique listeners. */
  | { readonly type: 'salts'; readonly salts: readonly DaySalt[] }
  /** The keys of TLS tickets. */
  | { readonly type: 'tickets'; readonly keys: TicketKeys }
  /** Blocks, tokens and fallbacks that operators have made. */
  | { readonly type: 'admin'; readonly state: AdminState };

export type FromHub =
  | TallyMessage
  | SharedMessage
  /** A channel's state, when the link begins; `ready` follows the last one. */
  | { readonly type: 'state'; readonly channel: string; readonly state: ChannelState }
  /** The time of the cluster, as milliseconds ahead of the system's monotonic clock. Not sent without a cluster. */
  | { readonly type: 'time'; readonly aheadMs: number }
  | { readonly type: 'ready'; readonly turn: number; readonly open: readonly number[] }
  | {
      readonly type: 'change';
      readonly turn: number;
      readonly channel: string;
      readonly change: Pick<Change, 'state' | 'record'>;
      /** Stamps that are issued and not published yet (feed/sequence.ts). */
      readonly open: readonly number[];
    }
  | { readonly type: 'facts'; readonly channel: string; readonly facts: ChannelFacts }
  /** Why the store cannot be used; null: it works. */
  | { readonly type: 'store'; readonly fault: string | null }
  | { readonly type: 'ask'; readonly id: number; readonly question: keyof WorkerQuestions; readonly ask: unknown }
  | { readonly type: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly type: 'refused'; readonly id: number; readonly refusal: RefusedAnswer };

export interface ControlHandler<In> {
  /** @throws WireError, which closes the link */
  onControl(message: In): void;
  /** The link has ended. Called once. */
  onClosed(): void;
}

/** Sends and receives the control messages of one end of a link. */
export class Control<In, Out> implements MessageHandler {
  readonly #connection: LinkConnection;
  readonly #handler: ControlHandler<In>;
  readonly #read: (value: unknown) => In;

  /** @param read checks a parsed message; throws WireError or CheckError */
  constructor(connection: LinkConnection, handler: ControlHandler<In>, read: (value: unknown) => In) {
    this.#connection = connection;
    this.#handler = handler;
    this.#read = read;
    connection.handle(CONTROL, CONTROL, this);
  }

  /** False: it is too long and was not sent, as the other end would close the link. */
  send(message: Out): boolean {
    return this.sendEncoded(Buffer.from(encode(message)));
  }

  /** The same for a message that is encoded already, as UTF-8. */
  sendEncoded(bytes: Buffer): boolean {
    if (this.#connection.isClosed) return true;
    if (bytes.length + LENGTH_BYTES > MAX_MESSAGE_BYTES) return false;
    this.#connection.begin(CONTROL).blob(bytes).end();
    this.#connection.flush();
    return true;
  }

  onMessage(_type: number, message: MessageReader): void {
    const text = message.text(MAX_MESSAGE_BYTES);
    message.end();
    const value = parse(text);
    try {
      this.#handler.onControl(this.#read(value));
    } catch (error) {
      throw new WireError(`${typeOf(value)}: ${(error as Error).message}`, { cause: error });
    }
  }

  onDrain(): void {}

  onClosed(): void {
    this.#handler.onClosed();
  }
}

/** For errors: the message may be anything. */
function typeOf(value: unknown): string {
  const { type } = (value ?? {}) as { readonly type?: unknown };
  return typeof type === 'string' && /^[a-z]{1,16}$/.test(type) ? type : 'of no known type';
}
