/**
 * Checks a channel's state and history from another process, machine, file or version (metadata/record-schema.ts). Members that a newer version has
 * added are kept.
 */

import * as z from 'zod';
import { MAX_HELD_PUSHES } from '../config/push-limits.js';
import type { TrackRecord } from '../metadata/record.js';
import {
  check,
  counted,
  moment,
  recordSchema,
  seconds,
  stamp,
  trackSchema,
  version,
} from '../metadata/record-schema.js';
import { type ChannelState, EMPTY_STATE, type HistoryEntry, MAX_ENDED } from './state.js';

const now = recordSchema.refine(({ type }) => type === 'now', { error: 'is not a current title' }).nullable();
const next = recordSchema.refine(({ type }) => type === 'next', { error: 'is not a next title' }).nullable();

const members = {
  stamp: stamp.exactOptional(),
  version,
  now,
  next,
  nowsSinceNext: counted,
  nextHasTime: z.boolean(),
  held: z.array(trackSchema).max(MAX_HELD_PUSHES),
  saidSeconds: seconds.nullable(),
  lost: z.boolean(),
  covered: now,
  onAirSinceMs: moment,
  ended: z
    .array(z.looseObject({ record: recordSchema, fromMs: moment, toMs: moment, saidSeconds: seconds.nullable() }))
    .max(MAX_ENDED)
    .exactOptional(),
};

export const stateSchema = z.looseObject(members);

export const entrySchema = z.looseObject({
  record: recordSchema,
  fromMs: moment,
  toMs: moment.nullable(),
});

export { next as nextSchema, now as nowSchema };

const RECORDS = ['now', 'next', 'covered'] as const;

/** Checks that the records of a state are of its channel, and not newer than the state. Null: they are. */
export function stateFault(
  channel: string,
  state: Pick<ChannelState, 'version' | 'ended' | (typeof RECORDS)[number]>,
): string | null {
  for (const part of RECORDS) {
    const reason = recordFault(channel, state[part], state.version);
    if (reason !== null) return `${part}: ${reason}`;
  }
  return endedFault(channel, state.ended, state.version);
}

function endedFault(channel: string, ended: ChannelState['ended'], version: number): string | null {
  for (const { record } of ended ?? []) {
    const reason = recordFault(channel, record, version);
    if (reason !== null) return `ended: ${reason}`;
  }
  return null;
}

export interface SalvagedState {
  readonly state: ChannelState;
  /** The unreadable members, for a person. */
  readonly bad: readonly string[];
}

/** The readable members of a state; the others are as in an empty state. */
export function salvageState(channel: string, value: unknown): SalvagedState {
  if (typeof value !== 'object' || value === null) return { state: EMPTY_STATE, bad: ['it is not an object'] };
  const given = value as Readonly<Record<string, unknown>>;
  const empty: Readonly<Record<string, unknown>> = { ...EMPTY_STATE };
  const state = { ...empty, ...given };
  const bad: string[] = [];
  for (const [name, schema] of Object.entries(members)) {
    if (given[name] === undefined) continue;
    const { value: read, bad: reason } = check<unknown>(schema, given[name]);
    if (reason === null) state[name] = read;
    else {
      bad.push(`${name}: ${reason}`);
      state[name] = empty[name];
    }
  }
  for (const part of RECORDS) {
    const reason = recordFault(channel, state[part] as TrackRecord | null, state['version'] as number);
    if (reason === null) continue;
    bad.push(`${part}: ${reason}`);
    state[part] = null;
  }
  const ended = state['ended'] as ChannelState['ended'];
  const reason = endedFault(channel, ended, state['version'] as number);
  if (reason !== null || ended === undefined) delete state['ended'];
  if (reason !== null) bad.push(reason);
  return { state: state as unknown as ChannelState, bad };
}

/** Null: malformed, or of another channel. */
export function readEntry(channel: string, value: unknown): HistoryEntry | null {
  const { value: entry } = check<HistoryEntry>(entrySchema, value);
  return entry?.record.channel === channel ? entry : null;
}

function recordFault(channel: string, record: TrackRecord | null, version: number): string | null {
  if (record === null) return null;
  if (record.channel !== channel) return 'is of another channel';
  return record.version > version ? 'is newer than its state' : null;
}
