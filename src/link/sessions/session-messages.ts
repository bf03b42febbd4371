/**
 * The messages of sessions, for both ends. All begin with a worker (to the hub: the receiver, 0 if the hub chooses; from the hub: the sender) and a
 * metaid. The hub checks them, and keeps only the members that it needs to forward them. What each says: README.md, "Sessions".
 *
 * They are many and small, so they are written to the stream together, once a turn of the event loop.
 */

import { METAID } from '../../base/key.js';
import { REPORT_BYTES, REPORT_VERDICTS, type ReportVerdict } from '../../listener/sessions/heard-reports.js';
import type { HeardTitle, Session } from '../../listener/sessions/session.js';
import type { CopiedTitle, SessionState } from '../../listener/sessions/session-copy.js';
import { plays, type SessionTimes } from '../../listener/sessions/session-location.js';
import { PLAYER_KEY } from '../../listener/sessions/shared-players.js';
import type { LinkConnection } from '../wire/link-connection.js';
import { byte, list, type MemberTable, number, readAll, readMembers, rest, text, whole } from '../wire/members.js';
import { HEARD, LOCATION, REPORT, STATE, TITLE } from '../wire/message-types.js';
import type { MessageWriter } from '../wire/message-writer.js';
import { MessageReader, WireError } from '../wire/wire.js';

/** Time-out of the verdict on a report. */
export const VERDICT_MS = 2000;

/** Messages that the hub forwards to followers. They begin with the time when the session was opened. */
export type RelayedType = typeof STATE | typeof TITLE | typeof HEARD;

/** Maximum number of titles of a session that its listener may still hear. */
const MAX_TITLES = 10_000;
/** Maximum size of one title, as JSON for readers. */
const MAX_JSON_BYTES = 32 * 1024 * 1024;
const [NO_SESSION, PLAYS, HAS_ENDED] = [0, 1, 2];
/** Maximum of times of another machine's clock, and of their offset: the sum is within MAX_NUMBER, and can be forwarded. */
export const MAX_CLOCK_MS = 2 ** 50;
/** Maximum size of a metaid, a session's id, a channel's key, a verdict. */
const MAX_ID_BYTES = 128;

/** The members with which each message begins. */
export const TO_MEMBERS: MemberTable<{ readonly worker: number; readonly metaid: string }> = {
  worker: whole(),
  metaid: text(MAX_ID_BYTES),
};
export const FOLLOW_MEMBERS: MemberTable<{ readonly isFollowed: number }> = { isFollowed: byte(1) };
export const SINCE_MEMBERS: MemberTable<{ readonly sinceMs: number }> = {
  sinceMs: number(-MAX_CLOCK_MS, MAX_CLOCK_MS),
};
/** The kind of a session; its times follow. */
export const LOCATION_MEMBERS: MemberTable<{ readonly kind: number }> = { kind: byte(HAS_ENDED) };
const TITLE_MEMBERS: MemberTable<CopiedTitle> = {
  order: number(-1),
  version: number(0),
  positionMs: number(),
  json: text(MAX_JSON_BYTES),
};
const STATE_MEMBERS: MemberTable<Omit<SessionState, 'isNew'> & { readonly isNew: number }> = {
  id: text(MAX_ID_BYTES),
  channel: text(MAX_ID_BYTES),
  mount: text(),
  isNew: byte(1),
  heard: number(-1),
  titles: list(TITLE_MEMBERS, MAX_TITLES),
};
const HEARD_MEMBERS: MemberTable<{ readonly order: number }> = { order: number(-1) };
/** The members that the hub forwards, after the time of the session. */
export const RELAYED_MEMBERS = { [STATE]: STATE_MEMBERS, [TITLE]: TITLE_MEMBERS, [HEARD]: HEARD_MEMBERS } as const;
export const REPORT_MEMBERS: MemberTable<{ readonly id: number; readonly bytes: Buffer }> = {
  id: whole(),
  bytes: rest(REPORT_BYTES),
};
export const VERDICT_MEMBERS: MemberTable<{ readonly id: number; readonly verdict: string }> = {
  id: whole(),
  verdict: text(MAX_ID_BYTES),
};

/** Reads the members with which each message begins. @param type of the message @throws WireError */
export function readTo(message: MessageReader, type: number): { readonly worker: number; readonly metaid: string } {
  const to = readMembers(message, TO_MEMBERS);
  // Without the value: a metaid may be a secret. A player of HLS has a place, and asks; nothing else is forwarded about it.
  const isPlayer = PLAYER_KEY.test(to.metaid) && (type === LOCATION || type === REPORT);
  if (to.metaid !== '' && !METAID.test(to.metaid) && !isPlayer) throw new WireError('metaid: it is not one');
  return to;
}

/** Reads an event of a session that is forwarded to its followers. Checked here, as a malformed one would end their links. */
export function readRelayed(
  type: RelayedType,
  message: MessageReader,
): { readonly sinceMs: number; readonly rest: Buffer } {
  const { sinceMs } = readMembers(message, SINCE_MEMBERS);
  const bytes = message.rest();
  readAll<object>(new MessageReader(bytes, true), RELAYED_MEMBERS[type]);
  return { sinceMs, rest: bytes };
}

/** @throws WireError */
export function readVerdict(message: MessageReader): { readonly id: number; readonly verdict: ReportVerdict } {
  const { id, verdict } = readAll(message, VERDICT_MEMBERS);
  const known = REPORT_VERDICTS.find((each) => each === verdict);
  if (known === undefined) throw new WireError('verdict: it is not known');
  return { id, verdict: known };
}

export function readFollow(message: MessageReader): boolean {
  return readAll(message, FOLLOW_MEMBERS).isFollowed === 1;
}

/** Writes them to one end of a link. */
export class SessionWriter {
  readonly #connection: LinkConnection;
  #isDue = false;

  constructor(connection: LinkConnection) {
    this.#connection = connection;
  }

  get isClosed(): boolean {
    return this.#connection.isClosed;
  }

  /** `end` follows in the same turn. */
  begin(type: number, worker: number, metaid: string): MessageWriter {
    if (!this.#isDue) {
      this.#isDue = true;
      setImmediate(() => {
        this.#isDue = false;
        this.#connection.flush();
      });
    }
    return this.#connection.begin(type).whole(worker).text(metaid);
  }
}

export function writeTimes(message: MessageWriter, session: SessionTimes | null): void {
  if (session === null) message.byte(NO_SESSION);
  else if (plays(session)) message.byte(PLAYS).number(session.sinceMs);
  else message.byte(HAS_ENDED).number(session.sinceMs).number(session.endedMs);
}

export function readTimes(message: MessageReader): SessionTimes | null {
  const { kind } = readMembers(message, LOCATION_MEMBERS);
  if (kind === NO_SESSION) {
    message.end();
    return null;
  }
  const { sinceMs } = readMembers(message, SINCE_MEMBERS);
  const endedMs = kind === PLAYS ? Number.POSITIVE_INFINITY : readMembers(message, SINCE_MEMBERS).sinceMs;
  message.end();
  return { sinceMs, endedMs };
}

export function writeState(message: MessageWriter, session: Session, isNew: boolean): void {
  const { id, channel, mount, titles, lastHeard } = session;
  message
    .text(id)
    .text(channel)
    .text(mount)
    .byte(isNew ? 1 : 0);
  message.number(lastHeard?.order ?? -1).whole(titles.length);
  for (const title of titles) writeTitle(message, session, title);
}

export function readState(message: MessageReader): SessionState {
  const state = readAll(message, STATE_MEMBERS);
  return { ...state, isNew: state.isNew === 1 };
}

export function writeTitle(message: MessageWriter, session: Session, title: HeardTitle): void {
  const { order, positionMs, view } = title;
  message.number(order).number(view.record.version).number(positionMs).text(session.json(title));
}

export function readTitle(message: MessageReader): CopiedTitle {
  return readAll(message, TITLE_MEMBERS);
}

/** The time when the session was opened, which identifies it among those of its metaid. */
export function readSince(message: MessageReader): number {
  // Within MAX_NUMBER only: the hub has converted times of another machine.
  return message.number();
}

export function readHeard(message: MessageReader): number {
  return readAll(message, HEARD_MEMBERS).order;
}
