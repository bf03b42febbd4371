/** The schemas of the control messages between hub and workers (control-messages.ts). */

import * as z from 'zod';
import { adminState, HUB_ASKS, PROCESS_QUESTIONS } from '../admin/admin-schema.js';
import { KEY } from '../base/key.js';
import { titleSchema } from '../channel/channel-position-schema.js';
import { cleaned } from '../metadata/push-schema.js';
import {
  CheckError,
  check,
  counted,
  heldId,
  type Is,
  MAX_COUNTED,
  moment,
  must,
  pushSchema,
  recordSchema,
  signedMs,
  stamp,
  version,
} from '../metadata/record-schema.js';
import type { ChannelState } from '../now-playing/state.js';
import { stateFault, stateSchema } from '../now-playing/state-schema.js';
import { DIMENSIONS } from '../statistics/figures.js';
import type { AskedHub, AskedProcess, FromHub, FromWorker, Questions } from './control-messages.js';
import { factsSchema } from './facts/facts-schema.js';
import { FIRST_NODE } from './sessions/session-registry.js';
import { ticketKeysSchema } from './ticket-keys-schema.js';

/** Names of tallies, and rows, in one message: enough for a million connections. */
const MAX_NAMES = 200_000;
const MAX_ROWS = 1_000_000;
/** Maximum length of the key of a tally, of a scope, of an id. */
const MAX_KEY_CHARACTERS = 256;
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
const key = z.string().max(MAX_KEY_CHARACTERS);
const figure = z.number().min(0).max(MAX_FIGURE);
/** Checked by hand: there may be thousands, eight times a second. */
const rowsOf = (least: number) =>
  z.custom<readonly (readonly [string, number])[]>(
    (value) => Array.isArray(value) && value.length <= MAX_ROWS && value.every((row) => isRow(row, least)),
    { error: 'must be pairs of a key and a number' },
  );

function isRow(row: unknown, least: number): boolean {
  if (!Array.isArray(row) || row.length !== 2) return false;
  const [name, count] = row as readonly unknown[];
  if (typeof name !== 'string' || name.length > MAX_KEY_CHARACTERS || typeof count !== 'number') return false;
  return count >= least && count <= MAX_COUNTED;
}

const rows = rowsOf(0);

const tallies = z.looseObject({
  type: z.literal('tallies'),
  rows: z.looseObject({
    counts: z.array(z.tuple([key, rows])).max(MAX_NAMES),
    peaks: rows,
    notices: z.array(z.tuple([key, rowsOf(-MAX_COUNTED)])).max(MAX_NAMES),
  }),
  isFirst: z.boolean(),
});

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

/** The arguments of each request of a worker. */
const ASKS: Readonly<Record<keyof Questions, z.ZodType>> = {
  title: z.looseObject({ channel, title: titleSchema, cameMs: moment.optional() }),
  metrics: z.null(),
  admin: z.looseObject({ question: z.enum(namesOf(HUB_ASKS)), ask: z.unknown() }),
  everywhere: z.looseObject({ question: z.enum(namesOf(PROCESS_QUESTIONS)), ask: z.unknown() }),
  push: z.looseObject({ channel, input: pushSchema, connection: key.optional() }),
  withdraw: z.looseObject({ channel, what: z.union([z.literal('next'), z.looseObject({ held: heldId })]) }),
};

const fromWorker = z.discriminatedUnion('type', [
  tallies,
  z.looseObject({ type: z.literal('metrics'), metrics }),
  z.looseObject({
    type: z.literal('hello'),
    worker: z
      .int()
      .min(1)
      .max(FIRST_NODE - 1),
    tickets: ticketKeysSchema.nullable(),
  }),
  z.looseObject({ type: z.literal('figures'), figures }),
  z.looseObject({ type: z.literal('ask'), id, question: z.enum(namesOf(ASKS)), ask: z.unknown() }),
  z.looseObject({ type: z.literal('answer'), id, answer: z.unknown() }),
  z.looseObject({ type: z.literal('applied'), turn: counted }),
]);

/** What is asked is checked where it is answered (readAsk). @throws CheckError that names the member */
export function readFromWorker(value: unknown): FromWorker {
  return must<FromWorker>(fromWorker, value);
}

/** Checks the arguments of a worker's request. @throws CheckError that names the member */
export function readAsk<Q extends keyof Questions>(question: Q, value: unknown): Questions[Q]['ask'] {
  return checkedAsk(question, value) as Questions[Q]['ask'];
}

function checkedAsk(question: keyof Questions, value: unknown): unknown {
  const ask = inside<unknown>(`ask of ${question}`, ASKS[question], value);
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

/** The answer of the hub to each request. Answers of other processes are checked by the hub (readAnswer). */
const HUB_ANSWERS: Readonly<Record<keyof Questions, z.ZodType>> = {
  title: z.boolean(),
  metrics: z.string(),
  admin: z.unknown(),
  everywhere: z.array(z.unknown()),
  push: z.looseObject({ answer: recordSchema, isFarAhead: z.boolean(), version: version.nullable() }),
  withdraw: z.boolean(),
};

/** Checks an answer of the hub. @throws CheckError that names the member */
export function readHubAnswer<Q extends keyof Questions>(question: Q, answer: unknown): Questions[Q]['answer'] {
  return inside<unknown>(`answer to ${question}`, HUB_ANSWERS[question], answer) as Questions[Q]['answer'];
}

/** Checks an answer of a worker. @throws CheckError that names the member */
export function readAnswer(question: 'metrics' | 'admin', ask: unknown, answer: unknown): unknown {
  if (question === 'metrics') return inside('metrics', metrics, answer);
  // The worker could not answer.
  if (answer === null) return null;
  const asked = ask as AskedProcess;
  return inside(`answer to ${asked.question}`, PROCESS_QUESTIONS[asked.question].answer, answer);
}

const fromHub = z.discriminatedUnion('type', [
  tallies,
  z.looseObject({ type: z.literal('state'), channel, state: stateSchema }),
  z.looseObject({ type: z.literal('time'), aheadMs: signedMs }),
  z.looseObject({ type: z.literal('ready'), turn: counted, open: z.array(stamp).max(MAX_STAMPS) }),
  z.looseObject({
    type: z.literal('change'),
    turn: counted,
    channel,
    change: z.looseObject({ state: stateSchema, record: recordSchema.nullable() }),
    open: z.array(stamp).max(MAX_STAMPS),
  }),
  z.looseObject({ type: z.literal('facts'), channel, facts: factsSchema }),
  z.looseObject({ type: z.literal('salts'), salts: z.array(z.tuple([moment, z.string().max(1024)])).max(16) }),
  z.looseObject({ type: z.literal('tickets'), keys: ticketKeysSchema }),
  z.looseObject({ type: z.literal('admin'), state: adminState }),
  z.looseObject({ type: z.literal('store'), fault: z.string().nullable() }),
  z.looseObject({ type: z.literal('ask'), id, question: z.enum(['metrics', 'admin']), ask: z.unknown() }),
  z.looseObject({ type: z.literal('answer'), id, answer: z.unknown() }),
  z.looseObject({
    type: z.literal('refused'),
    id,
    refusal: z.looseObject({
      kind: key,
      detail: z.string().max(65_536),
      headers: z.record(z.string().regex(HEADER), z.string().regex(HEADER_VALUE)),
    }),
  }),
]);

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

function inside<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const { value: read, bad } = check(schema, value);
  if (bad !== null) throw new CheckError(`${what}: ${bad}`);
  return read;
}

function namesOf<T extends string>(table: Readonly<Record<T, unknown>>): T[] {
  return Object.keys(table) as T[];
}

/** The compiler compares the schemas with the types: what is read is one of them, and each of them can be read. */
export type FromWorkerIsChecked = Is<FromWorker, z.output<typeof fromWorker>>;
export type FromWorkerIsWhole = Is<z.output<typeof fromWorker>['type'], FromWorker['type']>;
export type FromHubIsChecked = Is<FromHub, z.output<typeof fromHub>>;
export type FromHubIsWhole = Is<z.output<typeof fromHub>['type'], FromHub['type']>;
