/** Checks operators' questions that come from another process (admin-reports.ts), and the answers of other processes. */

import * as z from 'zod';
import { network, text, whole } from '../config/field.js';
import { cleaned } from '../metadata/push-schema.js';
import { check, counted, moment } from '../metadata/record-schema.js';
import type { AdminState, HubQuestion, ProcessQuestion } from './admin-reports.js';
import { MAX_RENEWED, NO_LOGINS } from './logins.js';
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

const filter = {
  ids: z.array(listenerId).max(1000).optional(),
  channel: channel.optional(),
  address: network().optional(),
  agent: cleaned(MAX_TEXT_BYTES).optional(),
};

/** Selects listeners to end or move: at least one member is required. */
const named = z
  .looseObject(filter)
  .refine((crowd) => Object.keys(filter).some((name) => crowd[name] !== undefined), { error: 'names no listeners' });

const block = blockRow.loose();
const fallback = fallbackRow.loose();
const token = tokenRow.loose();

const user = text(1, 64);
const endedLogin = z.looseObject({
  id: z.string().regex(/^[\w-]{22}$/),
  user: user.optional(),
  untilMs: moment,
});
const logins = z.looseObject({
  key: z.string().regex(/^[\w-]{0,64}$/),
  ended: z.array(endedLogin).max(MAX_ROWS),
  renewed: z
    .array(z.looseObject({ user, times: counted }))
    .max(MAX_RENEWED)
    .optional(),
});

/** Schemas of questions to the hub. */
export const HUB_ASKS: Readonly<Record<HubQuestion, z.ZodType>> = {
  cluster: nothing,
  channels: nothing,
  depth: ofChannel,
  endEncoder: ofChannel,
  moveEncoder: z.looseObject({ channel, to: channel }),
  pin: z.looseObject({ channel, place: whole(0, 1000).nullable() }),
  state: nothing,
  used: nothing,
  block,
  unblock: z.looseObject({ network: cleaned(1024) }),
  putFallback: fallback,
  removeFallback: ofChannel,
  putToken: token,
  rotateToken: z.looseObject({ id: text(1, 64), made: token, untilMs: moment.nullable() }),
  revokeToken: z.looseObject({ id: text(1, 64) }),
  beginLogins: nothing,
  endLogin: endedLogin,
};

/** Id of a token → when it was used last. */
const tokensUsed = z.record(z.string().max(256), moment);

/** Schemas of questions to all processes, and of their answers. */
export const PROCESS_QUESTIONS: Readonly<
  Record<ProcessQuestion, { readonly ask: z.ZodType; readonly answer: z.ZodType }>
> = {
  ages: {
    ask: z.looseObject({ ...filter, most }),
    answer: z.looseObject({ process: counted, total: counted, startedMs: z.array(z.number()).max(MAX_ROWS) }),
  },
  listeners: {
    ask: z.looseObject({
      ...filter,
      ranges: z.record(z.string().max(16), z.looseObject({ from: most, count: most })),
    }),
    answer: rows(listenerRow),
  },
  end: { ask: named, answer: counted },
  move: {
    ask: z.looseObject({ filter: named, to: text(1, 255) }),
    answer: z.looseObject({ moved: counted, refused: counted }),
  },
  sessions: {
    ask: z.looseObject({ channel: channel.optional(), most }),
    answer: rows(sessionRow),
  },
  watchers: { ask: z.looseObject({ most }), answer: rows(watcherRow) },
  refusals: { ask: nothing, answer: rows(refusalRow) },
  crowd: {
    ask: ofChannel,
    answer: crowdRow.loose(),
  },
  log: { ask: z.looseObject({ afterMs: z.number() }), answer: rows(logRow) },
  used: { ask: nothing, answer: tokensUsed },
};

const states = z.looseObject({
  blocks: z.array(block).max(MAX_ROWS),
  tokens: z.array(token).max(MAX_ROWS),
  fallbacks: z.array(fallback).max(MAX_ROWS),
  // Hubs of earlier versions have none.
  logins: logins.default({ key: NO_LOGINS.key, ended: [] }),
});
export const adminState: z.ZodType<AdminState> = states;

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
      logins: read('logins', logins, given['logins'])[0] ?? NO_LOGINS,
    },
    used: { ...read('tokens used', tokensUsed, used)[0] },
    bad,
  };
}

function rows(row: z.ZodObject) {
  return z.array(row.loose()).max(MAX_ROWS);
}
