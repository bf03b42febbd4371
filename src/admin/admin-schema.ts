/**
 * Operators' questions to the hub and to all processes, and the state that all processes know: one schema for the type, and for the check of what
 * another process sends.
 */

import * as z from 'zod';
import { network, text, whole } from '../config/field.js';
import { cleaned } from '../metadata/push-schema.js';
import { check, counted, moment, type Plain } from '../metadata/record-schema.js';
import { endedLogin, loginState, NO_LOGINS } from './logins.js';
import {
  blockRow,
  channel,
  crowdRow,
  fallbackRow,
  listenerId,
  listenerRow,
  logRow,
  MAX_ROWS,
  MAX_TEXT_BYTES,
  refusalRow,
  sessionRow,
  tokenRow,
  watcherRow,
} from './rows.js';

const nothing = z.null();
const ofChannel = z.looseObject({ channel });
const most = whole(0, MAX_ROWS);

/** Selects the listeners that match all present members. */
const filter = z.looseObject({
  ids: z.array(listenerId).max(1000).optional(),
  channel: channel.optional(),
  /** An address or a network. */
  address: network().optional(),
  /** A part of the user agent, case-insensitive. */
  agent: cleaned(MAX_TEXT_BYTES).optional(),
});
export type ListenerFilter = Plain<z.output<typeof filter>>;

/** Selects listeners to end or move: at least one member is required. */
const named = filter.refine((crowd) => Object.keys(filter.shape).some((name) => crowd[name] !== undefined), {
  error: 'names no listeners',
});

const block = blockRow.loose();
const fallback = fallbackRow.loose();
const token = tokenRow.loose();

/** Questions to the hub. Its answers: admin-queries.ts. */
export const HUB_ASKS = {
  cluster: nothing,
  channels: nothing,
  depth: ofChannel,
  endEncoder: ofChannel,
  /** Refused if its encoder cannot become that of the other channel. */
  moveEncoder: z.looseObject({ channel, to: channel }),
  /** Chooses a source by its index; null: the best one plays again. Refused if there is no such source, or it has no audio. */
  pin: z.looseObject({ channel, place: whole(0, 1000).nullable() }),
  state: nothing,
  used: nothing,
  block,
  unblock: z.looseObject({ network: cleaned(1024) }),
  /** Replaces the previous fallback. Refused if there is no such channel or mount, or the mount is the channel's own. */
  putFallback: fallback,
  removeFallback: ofChannel,
  putToken: token,
  /** Replaces a token; the old one is valid until `untilMs` (null: it ends at once). Refused if it is gone or already replaced. */
  rotateToken: z.looseObject({ id: text(1, 64), made: token, untilMs: moment.nullable() }),
  revokeToken: z.looseObject({ id: text(1, 64) }),
  /** Generates the key of logins if there is none, and resolves once all processes have it. */
  beginLogins: nothing,
  endLogin: endedLogin,
};

/** Id of a token → when it was used last. */
const tokensUsed = z.record(z.string().max(256), moment);

/** Questions to all processes, and the answer of each. */
export const PROCESS_QUESTIONS = {
  /** Number of matching listeners, and when they connected, oldest first, by the system's monotonic clock; at most as many as requested. */
  ages: {
    ask: filter.extend({ most }),
    answer: z.looseObject({ process: counted, total: counted, startedMs: z.array(z.number()).max(MAX_ROWS) }),
  },
  /** The listeners at these positions by age, by the number of the process. */
  listeners: {
    ask: filter.extend({ ranges: z.record(z.string().max(16), z.looseObject({ from: most, count: most })) }),
    answer: rows(listenerRow),
  },
  /** The number of ended listeners. */
  end: { ask: named, answer: counted },
  /** Numbers of listeners that were moved, and that could not be. */
  move: {
    ask: z.looseObject({ filter: named, to: text(1, 255) }),
    answer: z.looseObject({ moved: counted, refused: counted }),
  },
  sessions: { ask: z.looseObject({ channel: channel.optional(), most }), answer: rows(sessionRow) },
  watchers: { ask: z.looseObject({ most }), answer: rows(watcherRow) },
  refusals: { ask: nothing, answer: rows(refusalRow) },
  crowd: { ask: ofChannel, answer: crowdRow.loose() },
  /** Lines logged after this time. */
  log: { ask: z.looseObject({ afterMs: z.number() }), answer: rows(logRow) },
  used: { ask: nothing, answer: tokensUsed },
};
export type ProcessQuestion = keyof typeof PROCESS_QUESTIONS;
export type ProcessQuestions = {
  readonly [Q in ProcessQuestion]: Plain<{ [Part in 'ask' | 'answer']: z.output<(typeof PROCESS_QUESTIONS)[Q][Part]> }>;
};

/** State that all processes know. */
export const adminState = z.looseObject({
  blocks: z.array(block).max(MAX_ROWS),
  tokens: z.array(token).max(MAX_ROWS),
  fallbacks: z.array(fallback).max(MAX_ROWS),
  // Hubs of earlier versions have none.
  logins: loginState.default({ key: NO_LOGINS.key, ended: [] }),
});
export type AdminState = Plain<z.output<typeof adminState>>;

const MAX_REASONS = 10;

export interface SalvagedAdmin {
  readonly state: AdminState;
  /** When tokens were used last. */
  readonly used: Record<string, number>;
  /** What could not be read, for a person: at most MAX_REASONS of it. */
  readonly bad: readonly string[];
}

/**
 * What operators made, as far as it can be read: the store may be damaged, or of another version. Of logins all is kept or nothing: an ended one
 * that is left out would be valid again. @param state undefined: there is none
 */
export function salvageAdmin(state: unknown, used: unknown): SalvagedAdmin {
  const bad: string[] = [];
  const read = <T>(what: string, schema: z.ZodType<T>, value: unknown): readonly T[] => {
    if (value === undefined) return [];
    const { value: found, bad: reason } = check(schema, value);
    if (reason === null) return [found];
    if (bad.length < MAX_REASONS) bad.push(`${what}: ${reason}`);
    return [];
  };
  const [given = {}] = read('the state', z.looseObject({}), state);
  const list = <T>(name: string, row: z.ZodType<T>): readonly T[] => {
    const [all = []] = read(name, z.array(z.unknown()).max(MAX_ROWS), given[name]);
    return all.flatMap((each, i) => read(`${name}.${i}`, row, each));
  };
  return {
    state: {
      blocks: list('blocks', block),
      tokens: list('tokens', token),
      fallbacks: list('fallbacks', fallback),
      logins: read('logins', loginState, given['logins'])[0] ?? NO_LOGINS,
    },
    used: { ...read('tokens used', tokensUsed, used)[0] },
    bad,
  };
}

function rows<T extends z.core.$ZodLooseShape>(row: z.ZodObject<T>) {
  return z.array(row.loose()).max(MAX_ROWS);
}
