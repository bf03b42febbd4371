/**
 * Reads entries of the log, and last values of channels (scripts.ts). Another node, version or program may have written them. A malformed one is
 * returned as a value with the reason, since later entries are still read.
 */

import { parse } from '../../metadata/codec.js';
import { CheckError, must, stamp as stampSchema } from '../../metadata/record-schema.js';
import { stampedRecord, stampedState } from '../../now-playing/stamp.js';
import type { HistoryEntry } from '../../now-playing/state.js';
import type { RawEntry } from '../log/log-schema.js';
import type { Pairs } from '../log/shared-log.js';
import type { Ordered } from './ordered.js';
import { changeId, nodeName, readHistory, readOrdered, readVersion } from './ordered-schema.js';

export interface LogEntry {
  readonly seq: number;
  readonly channel: string;
  readonly id: string;
  readonly node: string;
  /** 0: it has no record. */
  readonly stamp: number;
  readonly ordered: Ordered;
  readonly history: readonly HistoryEntry[];
}

/** Not a change of a channel: an owner has changed, or its facts. */
export interface LogBell {
  readonly seq: number;
  readonly channel: '';
  readonly id: string;
}

/** An entry that is skipped. */
export interface BadEntry {
  readonly seq: number;
  /** '': unknown. */
  readonly channel: string;
  readonly id: string;
  /** The channel's version after this entry, on which the next change is decided; null: unknown. */
  readonly version: number | null;
  /** The reason, for the log. */
  readonly bad: string;
}

/** A last value that is skipped, and its version; null: that is malformed too. */
export interface BadLast {
  readonly version: number | null;
  readonly bad: string;
}

/** By channel. */
export type LastValues = ReadonlyMap<string, Ordered | BadLast>;

/** @throws Error if the entry has no number */
export function readEntry({ id, fields }: RawEntry): LogEntry | LogBell | BadEntry {
  const seq = /^\d{1,16}-\d+$/.test(id) ? Number.parseInt(id, 10) : Number.NaN;
  if (Number.isNaN(seq)) throw new Error('an entry of the log has no number');
  const channel = fields['c'] ?? '';
  try {
    const field = (name: string): string => {
      const text = fields[name];
      if (text === undefined) throw new CheckError(`it has no ${name}`);
      return text;
    };
    if (field('c') === '') return { seq, channel: '', id: must(changeId, field('p')) };
    const stamp = must(stampSchema, Number(field('s')));
    const ordered = withStamp(readOrdered(channel, parse(field('o'))), stamp);
    const history = readHistory(channel, parse(field('h'))).map((entry) => ({
      ...entry,
      record: stamp === 0 ? entry.record : stampedRecord(entry.record, ordered.state.version, stamp),
    }));
    return {
      seq,
      channel,
      stamp,
      ordered,
      history,
      id: must(changeId, field('p')),
      node: must(nodeName, field('n')),
    };
  } catch (error) {
    return {
      seq,
      channel,
      id: fields['p'] ?? '',
      version: readVersion(Number(fields['v'])),
      bad: reasonOf(error),
    };
  }
}

export function readLasts(pairs: Pairs): LastValues {
  return new Map(pairs.map(([channel, text]) => [channel, readLast(channel, text)]));
}

/** `stamp JSON`. */
export function readLast(channel: string, text: string): Ordered | BadLast {
  const space = text.indexOf(' ');
  let value: unknown;
  try {
    value = parse(text.slice(space + 1));
    return withStamp(readOrdered(channel, value), must(stampSchema, Number(text.slice(0, space))));
  } catch (error) {
    const { version } = (value as { state?: { version?: unknown } } | undefined)?.state ?? {};
    return { version: readVersion(version), bad: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof CheckError) return error.message;
  throw error;
}

/** The stamp precedes the text, since Redis issues it. 0: none. */
function withStamp(ordered: Ordered, stamp: number): Ordered {
  return stamp === 0 ? ordered : { ...ordered, state: stampedState(ordered.state, stamp) };
}
