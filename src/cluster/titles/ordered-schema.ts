/**
 * Schemas of a channel's state from other nodes, from Redis and from this node's own store (ordered.ts; ../../now-playing/state-schema.ts).
 */

import * as z from 'zod';
import { MAX_HELD_PUSHES } from '../../config/push-limits.js';
import {
  CheckError,
  check,
  maxMomentMs,
  maxVersion,
  moment,
  must,
  type Plain,
  signedMs,
  trackSchema,
  version,
} from '../../metadata/record-schema.js';
import type { HistoryEntry } from '../../now-playing/state.js';
import { entrySchema, nowSchema, stateFault, stateSchema } from '../../now-playing/state-schema.js';
import type { Ordered } from './ordered.js';

/** Of a node's name, an epoch, and the id of a change, in characters. */
export const MAX_NAME = 200;
/**
 * Maximum number of history entries in one change: a correction has two, a merge a few more; after a loss of data in Redis up to this many are sent
 * (shared-channel.ts).
 */
const MAX_HISTORY = 100;
/** Maximum number of unsent changes of a channel: no configuration allows more (cluster.waitingChanges). */
const MAX_UNSENT = 100_000;

export const nodeName = z.string().min(1).max(MAX_NAME);
export const changeId = z.string().max(MAX_NAME);
const decided = z.looseObject({ atMs: moment, node: z.string().max(MAX_NAME) });

const ordered = z.looseObject({ state: stateSchema, now: decided, next: decided });
const history = z.array(entrySchema).max(MAX_HISTORY);
const held = z.array(trackSchema).max(MAX_HELD_PUSHES);
const unsent = z.looseObject({
  id: changeId,
  decided,
  version,
  onVersion: z.int().min(-1),
  onNow: nowSchema,
  now: stateSchema
    .pick({ now: true, saidSeconds: true, lost: true, covered: true, onAirSinceMs: true, ended: true })
    .exactOptional(),
  next: stateSchema.pick({ next: true, nowsSinceNext: true, nextHasTime: true }).exactOptional(),
  held: z.looseObject({ added: held, gone: held }).exactOptional(),
  history,
});
/** The record saved beside a channel's state, in the same transaction (shared-channel.ts). */
const sharedPart = z.looseObject({
  /** The version of the state that was saved with it; another version was saved by a server without a cluster. */
  version,
  /** The common state; null: the state itself, without the time of its decision. */
  base: ordered.nullable(),
  now: decided,
  next: decided,
  unsent: z.array(unsent).max(MAX_UNSENT),
});
export type SharedPart = Plain<z.output<typeof sharedPart>>;

/** The position of a node in the log. */
export const logPositionSchema = z.looseObject({
  /** '': this node was never in a cluster. */
  epoch: z.string().max(MAX_NAME),
  seq: z.int().min(0),
  /** Of the change at this place. */
  id: changeId,
  /** For a node that starts while Redis is away. */
  skewMs: signedMs.exactOptional(),
  /** The channels whose changes were read up to this place. Absent: saved by an earlier version, all of them. */
  channels: z.array(z.string().max(MAX_NAME)).exactOptional(),
});
export type SavedPosition = Pick<Plain<z.output<typeof logPositionSchema>>, 'epoch' | 'seq' | 'id'>;

/** @throws CheckError */
export function readOrdered(channel: string, value: unknown): Ordered {
  const read = must<Ordered>(ordered, value);
  const fault = stateFault(channel, read.state);
  if (fault !== null) throw new CheckError(fault);
  return read;
}

/** @throws CheckError */
export function readHistory(channel: string, value: unknown): readonly HistoryEntry[] {
  const entries = must<HistoryEntry[]>(history, value);
  if (entries.some(({ record }) => record.channel !== channel)) throw new CheckError('an entry is of another channel');
  return entries;
}

/**
 * Why a value is rejected as too far ahead: values that continue from there would be rejected by all. Null: it is accepted.
 * @param known the version of the channel here
 */
export function aheadFault(
  { state, now, next }: Ordered,
  history: readonly HistoryEntry[],
  nowMs: number,
  known: number,
): string | null {
  const maxMs = maxMomentMs(nowMs);
  if (state.version > maxVersion(known)) return 'state.version: is far ahead of all that is known';
  if (now.atMs > maxMs || next.atMs > maxMs) return 'it was decided in a far future';
  const plays = [...(state.ended ?? []), ...history];
  const records = [state.now, state.covered, ...plays.map(({ record }) => record)];
  if ([state, state.next, ...records].some((each) => (each?.stamp ?? 0) > maxMs))
    return 'stamp: is far ahead of the clock';
  // A `next` may be announced for any time.
  const moments = [...records.map((each) => each?.effectAtMs), ...plays.flatMap(({ fromMs, toMs }) => [fromMs, toMs])];
  if ([state.onAirSinceMs, ...moments].some((ms) => (ms ?? 0) > maxMs)) return 'a title was on air in a far future';
  return null;
}

/** Checks the record saved beside a state. @throws CheckError */
export function readShared(channel: string, value: unknown): SharedPart {
  const read = must(sharedPart, value);
  const records = read.unsent.flatMap(({ onNow, now, next, history }) => [
    ...[onNow, now?.now ?? null, now?.covered ?? null, next?.next ?? null],
    ...(now?.ended ?? []).map(({ record }) => record),
    ...history.map(({ record }) => record),
  ]);
  const isForeign = records.some((record) => record !== null && record.channel !== channel);
  const fault = isForeign ? 'a record is of another channel' : read.base && stateFault(channel, read.base.state);
  if (fault) throw new CheckError(fault);
  return read;
}

/** Null: malformed. */
export function readVersion(value: unknown): number | null {
  return check<number>(version, value).value;
}
