/**
 * The shared log behind an origin: a node without Redis asks one that has Redis, or that holds the log itself. Over one connection to the port for
 * tapes, `GET /-/log` (tape-server.ts), by control messages (../../link/control-messages.ts).
 *
 *   edge: RemoteLog ══ /-/log ══ serveLog: origin ── RedisLog ── Redis, or HeldLog
 */

import type { Duplex } from 'node:stream';
import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { MAX_REQUESTS, Requests, RequestTimeout } from '../../base/requests.js';
import { Control, type ControlHandler } from '../../link/control-messages.js';
import { LinkConnection } from '../../link/wire/link-connection.js';
import { MAX_MESSAGE_BYTES, WireError } from '../../link/wire/wire.js';
import { must } from '../../metadata/record-schema.js';
import { MAX_NAME } from '../titles/ordered-schema.js';
import {
  type Commit,
  type CommitAnswer,
  type JoinAnswer,
  type Joining,
  type LeaseAnswer,
  type LeaseQuestion,
  QUESTIONS,
  type RawEntry,
} from './log-schema.js';
import { CLOSED, LogLost, type OnLogLost, type OpenSharedLog, type Pairs, type SharedLog } from './shared-log.js';

type LogAsk = keyof typeof QUESTIONS;
const ASKS = Object.keys(QUESTIONS) as LogAsk[];
/** Factor of the time-out for long answers. */
const LONG_TIMES = 10;

const id = z.int().min(1);
const questionSchema = z.looseObject({
  type: z.literal('ask'),
  id,
  ask: z.enum(ASKS),
  args: z.array(z.unknown()).readonly(),
});
/** The answers themselves are checked by checked-log.ts. */
const answerSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('answer'), id, answer: z.unknown() }),
  z.looseObject({ type: z.literal('refused'), id, reason: z.string() }),
]);
type LogQuestion = z.output<typeof questionSchema>;
type LogAnswer = z.output<typeof answerSchema>;

const TOO_LONG = 'it is longer than a message may be';
/** Of an answer, besides its texts; and between two of them. */
const [REST_BYTES, BETWEEN_BYTES] = [1024, 16];
/** Bytes of the longest escape of a character. */
const MAX_ESCAPE = 6;
/** Characters that are encoded in one go to measure a text. */
const PART = 65_536;
/** Fields that a shortened entry keeps at most. */
const MAX_SHORT = 16;

interface OriginOptions {
  /** For errors. */
  readonly peer?: string;
  /** The origin has sent a bad message, or is silent. */
  onBroken?(error: unknown): void;
}

export class RemoteLog implements SharedLog {
  readonly #connection: LinkConnection;
  readonly #control: Control<LogAnswer, LogQuestion>;
  readonly #answerMs: number;
  readonly #requests = new Requests();
  readonly #onLost: OnLogLost;
  #lost: LogLost | null = null;

  /** @param stream to the origin, after its response head @param answerMs time-out of an answer @param onLost see OpenSharedLog */
  constructor(
    stream: Duplex,
    answerMs: number,
    clock: Clock,
    onLost: OnLogLost = () => undefined,
    { peer = 'the origin', onBroken }: OriginOptions = {},
  ) {
    this.#answerMs = answerMs;
    this.#onLost = onLost;
    let why: unknown;
    const onError = (error: unknown) => {
      why = error;
      onBroken?.(error);
    };
    this.#connection = new LinkConnection(stream, onError, { peer, clock });
    const handler: ControlHandler<LogAnswer> = {
      onControl: (message) => {
        if (message.type === 'refused') this.#requests.fail(message.id, new Error(message.reason));
        else this.#requests.answer(message.id, message.answer);
      },
      onClosed: () => this.#lose(why instanceof Error ? why.message : 'the origin closed the connection'),
    };
    this.#control = new Control(this.#connection, handler, (value) => must(answerSchema, value));
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  close(reason = CLOSED): void {
    this.#lose(reason);
  }

  timeMs = () => this.#ask<number>('timeMs', []);
  epoch = () => this.#ask<string | null>('epoch', []);
  hello = (joining: Joining) => this.#ask<JoinAnswer>('hello', [joining]);
  commit = (change: Commit) => this.#ask<CommitAnswer>('commit', [change]);
  lease = (asked: LeaseQuestion) => this.#ask<LeaseAnswer>('lease', [asked]);
  nodes = () => this.#ask<Pairs>('nodes', []);
  forget = (nodes: readonly string[]) => this.#ask<void>('forget', [nodes]);
  last = (channels: readonly string[]) => this.#ask<Pairs>('last', [channels], this.#answerMs * LONG_TIMES);
  entriesAfter = (seq: number, most: number, waitMs: number) =>
    this.#ask<readonly RawEntry[]>('entriesAfter', [seq, most, waitMs], waitMs + this.#answerMs);

  async #ask<T>(ask: LogAsk, args: readonly unknown[], timeoutMs = this.#answerMs): Promise<T> {
    if (this.#lost !== null) throw this.#lost;
    try {
      return await this.#requests.ask<T>((id) => this.#send({ type: 'ask', id, ask, args }), { timeoutMs });
    } catch (error) {
      if (error instanceof RequestTimeout) this.#lose(error.message);
      throw this.#lost ?? error;
    }
  }

  #send(question: LogQuestion): void {
    if (!this.#control.send(question)) this.#requests.fail(question.id, new Error(TOO_LONG));
  }

  #lose(reason: string): void {
    if (this.#lost !== null) return;
    this.#lost = new LogLost(`the origin cannot be reached: ${reason}`);
    this.#requests.lose(this.#lost);
    this.#connection.close();
    this.#onLost(this.#lost);
  }
}

/** Resolves with the log when it has answered: an origin may have lost its own way to it. Rejects with LogLost. */
export async function answering(log: SharedLog): Promise<SharedLog> {
  try {
    await log.timeMs();
    return log;
  } catch (error) {
    log.close();
    throw error;
  }
}

/**
 * Serves the shared log to one node. The connection ends when the log is lost.
 * @param open opens a connection to the log for this node
 */
export async function serveLog(
  stream: Duplex,
  open: OpenSharedLog,
  clock: Clock,
  onError: (error: unknown) => void,
  peer = 'a machine',
): Promise<void> {
  let connection: LinkConnection | null = null;
  let log: SharedLog;
  try {
    log = await open(() => connection?.close());
  } catch {
    // The node retries, here or at another origin.
    stream.destroy();
    return;
  }
  connection = new LinkConnection(stream, onError, { peer, clock });
  let waiting = 0;
  const answer = async ({ id, ask, args }: LogQuestion) => {
    try {
      const answered = await (log[ask] as (...args: readonly unknown[]) => Promise<unknown>)(...args);
      if (!control.send({ type: 'answer', id, answer: fitting(ask, answered) ?? null })) throw new Error(TOO_LONG);
    } catch (error) {
      if (!log.isLost) control.send({ type: 'refused', id, reason: (error as Error).message });
    } finally {
      waiting--;
    }
  };
  const handler: ControlHandler<LogQuestion> = {
    onControl: (question) => {
      if (++waiting > MAX_REQUESTS) throw new WireError(`more than ${MAX_REQUESTS} requests at once`);
      void answer(question);
    },
    onClosed: () => log.close(),
  };
  const control = new Control<LogQuestion, LogAnswer>(connection, handler, readQuestion);
  if (stream.destroyed) connection.close();
}

/**
 * Of an answer with several values, the first ones that fit in a message: in JSON a quote has two bytes, a NUL six. One that does not fit by itself
 * keeps its short texts only, and is malformed (shared-log.ts).
 */
function fitting(ask: LogAsk, answer: unknown): unknown {
  if (ask !== 'last' && ask !== 'entriesAfter') return answer;
  const values = answer as Pairs | readonly RawEntry[];
  let left = MAX_MESSAGE_BYTES - REST_BYTES;
  // Few are so long that they have to be measured.
  let maxBytes = 0;
  for (const value of values) for (const text of textsOf(value)) maxBytes += maxJsonBytes(text);
  if (maxBytes <= left) return values;
  for (const [place, value] of values.entries()) {
    for (const text of textsOf(value)) left -= jsonBytes(text);
    if (left < 0) return place === 0 ? [shortened(value)] : values.slice(0, place);
  }
  return values;
}

function textsOf(value: Pairs[number] | RawEntry): readonly string[] {
  return 'fields' in value ? [value.id, ...Object.entries(value.fields).flat()] : value;
}

function shortened(value: Pairs[number] | RawEntry): Pairs[number] | RawEntry {
  if (!('fields' in value)) return [value[0], ''];
  const short = Object.entries(value.fields).filter(([name, text]) => name.length + text.length <= 2 * MAX_NAME);
  return { id: value.id, fields: Object.fromEntries(short.slice(0, MAX_SHORT)) };
}

function maxJsonBytes(text: string): number {
  return text.length * MAX_ESCAPE + BETWEEN_BYTES;
}

/** At most how many bytes a text has as JSON, with what is between it and the next one. In parts, since all may be several times as long. */
function jsonBytes(text: string): number {
  if (text.length <= MAX_NAME) return maxJsonBytes(text);
  let bytes = BETWEEN_BYTES;
  for (let at = 0; at < text.length; at += PART) bytes += Buffer.byteLength(JSON.stringify(text.slice(at, at + PART)));
  return bytes;
}

/** @throws CheckError */
function readQuestion(value: unknown): LogQuestion {
  const question = must<LogQuestion>(questionSchema, value);
  return { ...question, args: must<readonly unknown[]>(QUESTIONS[question.ask], question.args) };
}
