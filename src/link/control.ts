/**
 * The messages of a link that are not of tapes or sessions: plain data (metadata/codec.ts), in order. A message that cannot be read closes the link,
 * and has no other effect. What each says: README.md.
 */

import type { AdminState, HubQuestion, ProcessQuestion } from '../admin/admin-reports.js';
import { encode, parse } from '../metadata/codec.js';
import type { PushInput } from '../metadata/push-input.js';
import type { Change, ChannelState } from '../now-playing/state.js';
import type { SourceFacts } from '../source/facts.js';
import type { SourceTitle } from '../source/source.js';
import type { MinuteFigures } from '../statistics/figures.js';
import type { DaySalt } from '../statistics/salts.js';
import type { DecidedPush, Withdrawal } from '../titles/push-decider.js';
import type { LastMetrics, TallyMessage } from './facts/tally-messages.js';
import type { LinkConnection, MessageHandler } from './wire/connection.js';
import { CONTROL } from './wire/message-types.js';
import { MAX_MESSAGE_BYTES, type MessageReader, WireError } from './wire/wire.js';

/** Before a text. */
const LENGTH_BYTES = 4;
/** Of a channel's state: a change is sent with its record beside the state. */
export const MAX_STATE_BYTES = MAX_MESSAGE_BYTES / 2;

/** What a channel's sources make of it, and what a head says of its audio, for processes that do not feed it. */
export interface ChannelFacts {
  readonly onAirSinceMs: number | null;
  /** Milliseconds of the system's clock, which all processes share; null: there is audio. */
  readonly silentSinceMs: number | null;
  /** The same where there should be audio (channel/served.ts). */
  readonly missingSinceMs: number | null;
  readonly isSilence: boolean;
  readonly onAir: number | null;
  /** Whether that one is waited for (source/switch.ts). A machine of an earlier version does not say it, nor `sends`. */
  readonly isAwaited?: boolean;
  readonly onAirType: string | null;
  readonly sends?: string | null;
  readonly facts: SourceFacts | null;
  readonly hopeful: boolean;
  readonly contentType: string;
  readonly bitrateKbps: number;
  readonly sampleRate: number;
  readonly channels: number;
  readonly delayMs: number;
  readonly delayedMs: number;
  readonly metaint: number | null;
  readonly hasSegments: boolean;
}

/** What a worker asks the hub to do, and what that answers. */
export interface Questions {
  /** An encoder's title; whether an encoder feeds the channel. */
  title: { readonly ask: { readonly channel: string; readonly title: SourceTitle }; readonly answer: boolean };
  /** The metrics of all processes, as Prometheus reads them. */
  metrics: { readonly ask: null; readonly answer: string };
  /** An operator asks the hub (admin-reports.ts). */
  admin: { readonly ask: AskedHub; readonly answer: unknown };
  /** An operator asks every process: a list of answers. */
  everywhere: { readonly ask: AskedProcess; readonly answer: readonly unknown[] };
  /** A push, and what takes one back: the hub decides (titles/push-decider.ts). */
  push: { readonly ask: AskedPush; readonly answer: DecidedPush };
  withdraw: { readonly ask: { readonly channel: string; readonly what: Withdrawal }; readonly answer: boolean };
}
export interface AskedPush {
  readonly channel: string;
  readonly input: PushInput;
  readonly connection?: string | undefined;
}
export interface AskedHub {
  readonly question: HubQuestion;
  readonly ask: unknown;
}
export interface AskedProcess {
  readonly question: ProcessQuestion;
  readonly ask: unknown;
}
export type Question = keyof Questions;

/** What the hub asks a worker. */
export interface WorkerQuestions {
  /** What prom-client makes of its metrics. */
  metrics: { readonly ask: null; readonly answer: unknown };
  /** An operator asks. */
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
  | { readonly type: 'hello'; readonly worker: number }
  /** What its listeners did in a minute. */
  | { readonly type: 'figures'; readonly figures: MinuteFigures }
  | { readonly type: 'ask'; readonly id: number; readonly question: Question; readonly ask: unknown }
  | { readonly type: 'answer'; readonly id: number; readonly answer: unknown }
  /** All changes up to this number are in force here. */
  | { readonly type: 'applied'; readonly turn: number };

export type FromHub =
  | TallyMessage
  /** A channel's state when the link begins; behind the last one: `ready`. */
  | { readonly type: 'state'; readonly channel: string; readonly state: ChannelState }
  /** The time of the cluster, as milliseconds ahead of the system's monotonic clock. Not sent without a cluster. */
  | { readonly type: 'time'; readonly aheadMs: number }
  | { readonly type: 'ready'; readonly turn: number; readonly open: readonly number[] }
  | {
      readonly type: 'change';
      readonly turn: number;
      readonly channel: string;
      readonly change: Pick<Change, 'state' | 'record'>;
      /** Stamps that were given but not published yet (feed/sequence.ts). */
      readonly open: readonly number[];
    }
  | { readonly type: 'facts'; readonly channel: string; readonly facts: ChannelFacts }
  /** By which all processes count unique listeners: of today and tomorrow. */
  | { readonly type: 'salts'; readonly salts: readonly DaySalt[] }
  /** What an operator has blocked and made: when the link begins, and after each change. */
  | { readonly type: 'admin'; readonly state: AdminState }
  /** Why the store cannot be used; null: it can. */
  | { readonly type: 'store'; readonly fault: string | null }
  | { readonly type: 'ask'; readonly id: number; readonly question: keyof WorkerQuestions; readonly ask: unknown }
  | { readonly type: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly type: 'refused'; readonly id: number; readonly refusal: RefusedAnswer };

export interface ControlHandler<In> {
  /** @throws WireError, which closes the link */
  onControl(message: In): void;
  /** No message comes any more. Called once. */
  onClosed(): void;
}

/** The control messages of one end. */
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

  /** False: it is too long, and was not sent: it would end the link, and so it would when it is sent again. */
  send(message: Out): boolean {
    return this.sendEncoded(Buffer.from(encode(message)));
  }

  /** The same of what `encode` has made of a message, as UTF-8. */
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
