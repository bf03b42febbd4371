/** Messages about sessions from a worker or another machine: valid ones, and variants with each member at every boundary (lies.ts). */

import * as sessions from '../../src/link/sessions/session-messages.js';
import type { MemberTable } from '../../src/link/wire/members.js';
import * as types from '../../src/link/wire/message-types.js';
import { framed, honest, type Lie, lies } from './lies.js';

export interface SessionMessage {
  readonly name: string;
  readonly type: number;
  /** The bytes after the worker and the metaid. */
  honest(): Buffer;
  lies(): Iterable<Lie>;
}

function known<T extends object>(name: string, type: number, members: MemberTable<T>, values: T): SessionMessage {
  return { name, type, honest: () => honest(members, values), lies: () => lies(members, values) };
}

/** The metaid of the liar's session, which others follow. */
export const METAID = 'metaid-of-a-liar';
export const SINCE_MS = 1000;

const since = { sinceMs: SINCE_MS };
const title = { order: 3, version: 1, positionMs: 0, json: '{"song":"x"}' };
const state = {
  id: 'id',
  channel: 'demo',
  mount: '/demo',
  isNew: 0,
  heard: -1,
  titles: [title, title] as readonly (typeof title)[],
};
const { SINCE_MEMBERS, RELAYED_MEMBERS } = sessions;
const { STATE, TITLE, HEARD } = types;

export const LOCATION = known(
  'LOCATION',
  types.LOCATION,
  { ...sessions.LOCATION_MEMBERS, ...SINCE_MEMBERS },
  { kind: 1, ...since },
);

export const SESSION_MESSAGES: readonly SessionMessage[] = [
  LOCATION,
  known('FOLLOW', types.FOLLOW, sessions.FOLLOW_MEMBERS, { isFollowed: 1 }),
  known('ASK', types.ASK, {}, {}),
  known('STATE', STATE, { ...SINCE_MEMBERS, ...RELAYED_MEMBERS[STATE] }, { ...since, ...state }),
  known('TITLE', TITLE, { ...SINCE_MEMBERS, ...RELAYED_MEMBERS[TITLE] }, { ...since, ...title }),
  known('HEARD', HEARD, { ...SINCE_MEMBERS, ...RELAYED_MEMBERS[HEARD] }, { ...since, order: 3 }),
  known('REPORT', types.REPORT, sessions.REPORT_MEMBERS, { id: 1, bytes: Buffer.from('{"heardMs":1}') }),
  known('VERDICT', types.VERDICT, sessions.VERDICT_MEMBERS, { id: 1, verdict: 'taken' }),
];

/** Another message between machines. */
export const CLOCKS = { type: 'clocks', ownMs: 1, clusterMs: 1 };
export const BRIDGE_MESSAGES: readonly object[] = [
  CLOCKS,
  { type: 'listeners', counts: [['demo', 3]] },
  { type: 'settings', settings: [['demo', { delaySeconds: 1, metaint: 8192, holdSeconds: 300, sources: ['file'] }]] },
];

/** A message on the wire. */
export function said(type: number, payload: Buffer, metaid = METAID): Buffer {
  return framed(type, Buffer.concat([honest(sessions.TO_MEMBERS, { worker: 0, metaid }), payload]));
}

/** All false variants of a message, including those of its common start. */
export function* liesOf(message: SessionMessage): Iterable<{ readonly what: string; readonly bytes: Buffer }> {
  for (const { what, payload } of message.lies()) yield { what, bytes: said(message.type, payload) };
  for (const { what, payload } of lies(sessions.TO_MEMBERS, { worker: 2, metaid: METAID })) {
    yield { what, bytes: framed(message.type, Buffer.concat([payload, message.honest()])) };
  }
}
