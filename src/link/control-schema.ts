/** The control messages between hub and workers: one schema for the type of each, and for its check. */

import * as z from 'zod';
import type { HubQuestion, HubQuestions } from '../admin/admin-queries.js';
import {
  adminState,
  HUB_ASKS,
  PROCESS_QUESTIONS,
  type ProcessQuestion,
  type ProcessQuestions,
} from '../admin/admin-schema.js';
import { KEY } from '../base/key.js';
import { factsSchema } from '../channel/channel-facts-schema.js';
import { titleSchema } from '../channel/channel-position-schema.js';
import { cleaned } from '../metadata/push-schema.js';
import {
  CheckError,
  check,
  counted,
  heldId,
  moment,
  must,
  type Plain,
  pushSchema,
  recordSchema,
  signedMs,
  stamp,
  version,
} from '../metadata/record-schema.js';
import type { ChannelState } from '../now-playing/state.js';
import { stateFault, stateSchema } from '../now-playing/state-schema.js';
import { DIMENSIONS } from '../statistics/figures.js';
import { key, MAX_ROWS, tallies } from './facts/tally-messages.js';
import { FIRST_NODE } from './sessions/session-registry.js';
import { ticketKeysSchema } from './ticket-keys-schema.js';

/** Metrics of one process. */
const MAX_METRICS = 10_000;
/** Changes that are committed but not delivered yet. */
const MAX_STAMPS = 100_000;
/** Maximum of a figure of the statistics: milliseconds, or a count. */
const MAX_FIGURE = 2 ** 53;
const MAX_LABEL_CHARACTERS = 1024;

const [HEADER, HEADER_VALUE] = [/^[A-Za-z-]{1,64}$/, /^[\x20-\x7e]{0,1024}$/];

const channel = z.string().regex(KEY);
const id = counted;
const figure = z.number().min(0).max(MAX_FIGURE);
const figureRow = z.tuple([
  ...[key, z.enum([...DIMENSIONS, 'total']), cleaned(1024)],
  ...[figure, figure, figure, figure, figure],
  z.string().max(4096),
] as const);

const figures = z.looseObject({
  minuteMs: moment,
  saltDayMs: moment.nullable(),
  rows: z.array(figureRow).max(MAX_ROWS),
  titles: z.array(z.tuple([channel, moment, figure, figure])).max(MAX_ROWS),
});

const METRIC = /^[A-Za-z_:][A-Za-z0-9_:]{0,200}$/;
const TYPES: readonly unknown[] = ['counter', 'gauge', 'histogram', 'summary'];
const AGGREGATORS: readonly unknown[] = ['sum', 'max', 'min', 'first', 'average', 'omit'];

/**
 * Metrics in the format of prom-client. Checked by hand, in a tenth of the time: there may be a row for each source of a thousand channels. NaN
 * becomes null in JSON.
 */
const metrics = z.custom<unknown>(
  (value) => Array.isArray(value) && value.length <= MAX_METRICS && value.every(isMetric),
  { error: 'must be as prom-client makes them' },
);

function isMetric(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { name, help, type, values, aggregator } = value as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || !METRIC.test(name) || typeof help !== 'string' || help.length > 4096) return false;
  if (!TYPES.includes(type) || !AGGREGATORS.includes(aggregator) || !Array.isArray(values)) return false;
  return values.length <= MAX_ROWS && values.every(isMetricRow);
}

function isMetricRow(row: unknown): boolean {
  if (typeof row !== 'object' || row === null) return false;
  const { value, labels, metricName } = row as Readonly<Record<string, unknown>>;
  if (typeof value !== 'number' && value !== null) return false;
  if (metricName !== undefined && (typeof metricName !== 'string' || !METRIC.test(metricName))) return false;
  if (typeof labels !== 'object' || labels === null) return false;
  for (const [name, label] of Object.entries(labels)) {
    if (!METRIC.test(name)) return false;
    if (typeof label !== 'number' && (typeof label !== 'string' || label.length > MAX_LABEL_CHARACTERS)) return false;
  }
  return true;
}

/** A request of an operator to the hub, and one to every process (admin/admin-schema.ts). What is asked is checked next. */
const askedHub = z.looseObject({
  question: z.enum(namesOf(HUB_ASKS)),
  ask: z.unknown() as z.ZodType<HubQuestions[HubQuestion]['ask']>,
});
const askedProcess = z.looseObject({
  question: z.enum(namesOf(PROCESS_QUESTIONS)),
  ask: z.unknown() as z.ZodType<ProcessQuestions[ProcessQuestion]['ask']>,
});
export type AskedHub = Plain<z.output<typeof askedHub>>;
export type AskedProcess = Plain<z.output<typeof askedProcess>>;

/** Requests of a worker to the hub, and their answers. Answers of other processes are checked by the hub (readAnswer). */
const QUESTIONS = {
  /** Sets an encoder's title; `cameMs` as EncoderMount has it, absent: now. Answer: whether an encoder feeds the channel. */
  title: {
    ask: z.looseObject({ channel, title: titleSchema, cameMs: moment.optional() }),
    answer: z.boolean(),
  },
  /** The metrics of all processes, in the text format of Prometheus. */
  metrics: { ask: z.null(), answer: z.string() },
  admin: { ask: askedHub, answer: z.unknown() },
  /** The list of the answers of all processes. */
  everywhere: { ask: askedProcess, answer: z.array(z.unknown()) },
  /** A push, and the withdrawal of one: the hub decides (titles/push-decider.ts). */
  push: {
    ask: z.looseObject({ channel, input: pushSchema, connection: key.optional() }),
    answer: z.looseObject({ answer: recordSchema, isFarAhead: z.boolean(), version: version.nullable() }),
  },
  withdraw: {
    ask: z.looseObject({ channel, what: z.union([z.literal('next'), z.looseObject({ held: heldId })]) }),
    answer: z.boolean(),
  },
};
export type Question = keyof typeof QUESTIONS;
export type Questions = {
  readonly [Q in Question]: Plain<{ [Part in 'ask' | 'answer']: z.output<(typeof QUESTIONS)[Q][Part]> }>;
};

/** Requests of the hub to a worker. */
export interface WorkerQuestions {
  /** Its metrics, in the format of prom-client. */
  readonly metrics: { readonly ask: null; readonly answer: unknown };
  /** A request of an operator. */
  readonly admin: { readonly ask: AskedProcess; readonly answer: unknown };
}

const fromWorker = z.discriminatedUnion('type', [
  tallies,
  /** The last metrics of a worker that is about to exit, in the format of prom-client. */
  z.looseObject({ type: z.literal('metrics'), metrics }),
  /** With the keys of TLS tickets of the former hub; null: none. */
  z.looseObject({
    type: z.literal('hello'),
    worker: z
      .int()
      .min(1)
      .max(FIRST_NODE - 1),
    tickets: ticketKeysSchema.nullable(),
  }),
  /** The statistics of its listeners in one minute. */
  z.looseObject({ type: z.literal('figures'), figures }),
  z.looseObject({ type: z.literal('ask'), id, question: z.enum(namesOf(QUESTIONS)), ask: z.unknown() }),
  z.looseObject({ type: z.literal('answer'), id, answer: z.unknown() }),
  /** All changes up to this number are in force at the worker. */
  z.looseObject({ type: z.literal('applied'), turn: counted }),
]);
export type FromWorker = Plain<z.output<typeof fromWorker>>;

/** What is asked is checked where it is answered (readAsk). @throws CheckError that names the member */
export function readFromWorker(value: unknown): FromWorker {
  return must(fromWorker, value);
}

/** Checks the arguments of a worker's request. @throws CheckError that names the member */
export function readAsk<Q extends Question>(question: Q, value: unknown): Questions[Q]['ask'] {
  return checkedAsk(question, value) as Questions[Q]['ask'];
}

function checkedAsk(question: Question, value: unknown): unknown {
  const ask = inside(`ask of ${question}`, QUESTIONS[question].ask, value);
  if (question === 'admin') {
    const asked = ask as AskedHub;
    return { ...asked, ask: inside(`ask of ${asked.question}`, HUB_ASKS[asked.question], asked.ask) };
  }
  if (question === 'everywhere') {
    const asked = ask as AskedProcess;
    return { ...asked, ask: inside(`ask of ${asked.question}`, PROCESS_QUESTIONS[asked.question].ask, asked.ask) };
  }
  return ask;
}

/** Checks an answer of the hub. @throws CheckError that names the member */
export function readHubAnswer<Q extends Question>(question: Q, answer: unknown): Questions[Q]['answer'] {
  return inside(`answer to ${question}`, QUESTIONS[question].answer, answer) as Questions[Q]['answer'];
}

/** Checks an answer of a worker. @throws CheckError that names the member */
export function readAnswer(question: keyof WorkerQuestions, ask: unknown, answer: unknown): unknown {
  if (question === 'metrics') return inside('metrics', metrics, answer);
  // The worker could not answer.
  if (answer === null) return null;
  const asked = ask as AskedProcess;
  return inside(`answer to ${asked.question}`, PROCESS_QUESTIONS[asked.question].answer, answer);
}

/** Stamps that are issued and not published yet (feed/sequence.ts). */
const open = z.array(stamp).max(MAX_STAMPS);
const salt = z.tuple([moment, z.string().max(1024)]);
/** A refusal, as plain data. */
const refusal = z.looseObject({
  kind: key,
  detail: z.string().max(65_536),
  headers: z.record(z.string().regex(HEADER), z.string().regex(HEADER_VALUE)),
});
export type RefusedAnswer = Plain<z.output<typeof refusal>>;

/** What all workers have to know: when the link begins, and after each change. */
const shared = [
  /** The salts of today and tomorrow, by which all processes count unique listeners. */
  z.looseObject({ type: z.literal('salts'), salts: z.array(salt).max(16) }),
  z.looseObject({ type: z.literal('tickets'), keys: ticketKeysSchema }),
  /** Blocks, tokens and fallbacks that operators have made. */
  z.looseObject({ type: z.literal('admin'), state: adminState }),
] as const;
export type SharedMessage = Plain<z.output<(typeof shared)[number]>>;

const fromHub = z.discriminatedUnion('type', [
  tallies,
  ...shared,
  /** A channel's state, when the link begins; `ready` follows the last one. */
  z.looseObject({ type: z.literal('state'), channel, state: stateSchema }),
  /** The time of the cluster, as milliseconds ahead of the system's monotonic clock. Not sent without a cluster. */
  z.looseObject({ type: z.literal('time'), aheadMs: signedMs }),
  z.looseObject({ type: z.literal('ready'), turn: counted, open }),
  z.looseObject({
    type: z.literal('change'),
    turn: counted,
    channel,
    change: z.looseObject({ state: stateSchema, record: recordSchema.nullable() }),
    open,
  }),
  z.looseObject({ type: z.literal('facts'), channel, facts: factsSchema }),
  /** Why the store cannot be used; null: it works. */
  z.looseObject({ type: z.literal('store'), fault: z.string().nullable() }),
  z.looseObject({ type: z.literal('ask'), id, question: z.enum(['metrics', 'admin']), ask: z.unknown() }),
  z.looseObject({ type: z.literal('answer'), id, answer: z.unknown() }),
  z.looseObject({ type: z.literal('refused'), id, refusal }),
]);
export type FromHub = Plain<z.output<typeof fromHub>>;

/** @throws CheckError that names the member */
export function readFromHub(value: unknown): FromHub {
  const message = must<FromHub>(fromHub, value);
  if (message.type === 'state') mustBeState(message.channel, message.state);
  if (message.type === 'change') mustBeState(message.channel, message.change.state);
  if (message.type !== 'ask' || message.question !== 'admin') return message;
  const asked = message.ask as AskedProcess;
  const question = must(z.enum(namesOf(PROCESS_QUESTIONS)), asked?.question);
  return { ...message, ask: { question, ask: inside(question, PROCESS_QUESTIONS[question].ask, asked.ask) } };
}

function mustBeState(channel: string, state: ChannelState): void {
  const fault = stateFault(channel, state);
  if (fault !== null) throw new CheckError(fault);
}

function inside(what: string, schema: z.ZodType, value: unknown): unknown {
  const { value: read, bad } = check(schema, value);
  if (bad !== null) throw new CheckError(`${what}: ${bad}`);
  return read;
}

function namesOf<T extends string>(table: Readonly<Record<T, unknown>>): T[] {
  return Object.keys(table) as T[];
}
