/**
 * The messages of sessions, at both ends. All begin with a worker (to the hub: who is to get it, 0 where that is up to the hub; from the hub: whose
 * it is) and a metaid. The hub reads of them what it needs to pass them on, and nothing of what is rendered. What each says: README.md, "Sessions".
 *
 * They are many and small, so they are handed to the stream together, once a turn of the event loop.
 */

import type { CopiedTitle, SessionState } from '../listener/session-copy.js';
import { plays, type SessionTimes } from '../listener/session-place.js';
import type { HeardTitle, Session } from '../listener/sessions.js';
import type { LinkConnection } from './connection.js';
import type { MessageWriter } from './message-writer.js';
import { type MessageReader, WireError } from './wire.js';

export const FIRST_SESSION_TYPE = 48;
export const LAST_SESSION_TYPE = 63;

export const PLACE = 48;
export const FOLLOW = 49;
export const ASK = 50;
export const STATE = 51;
export const TITLE = 52;
export const HEARD = 53;
export const REPORT = 54;
export const VERDICT = 55;
/** Between machines: which moment of its own clock is which of the cluster's. */
export const CLOCKS = 56;
/** How many listen to a channel on that machine. */
export const LISTENERS = 57;

/** What a channel has there that all machines are to have alike (cluster/channel-settings.ts). */
export const SETTINGS = 58;

/** What the hub passes on to followers: it begins with when the session was opened. */
export type RelayedType = typeof STATE | typeof TITLE | typeof HEARD;

/** Of a session: those that its listener may still hear. Of one of them, as a reader gets it. */
const [MOST_TITLES, MOST_JSON_BYTES] = [10_000, 32 * 1024 * 1024];
const [NO_SESSION, PLAYS, HAS_ENDED] = [0, 1, 2];

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
  const kind = message.byte();
  if (kind > HAS_ENDED) throw new WireError(`a session of kind ${kind}`);
  const times =
    kind === NO_SESSION
      ? null
      : { sinceMs: message.number(), endedMs: kind === PLAYS ? Number.POSITIVE_INFINITY : message.number() };
  message.end();
  return times;
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
  const [id, channel, mount] = [message.text(), message.text(), message.text()];
  const isNew = message.byte() === 1;
  const heard = message.number();
  const titles: CopiedTitle[] = [];
  for (let left = message.whole(MOST_TITLES); left > 0; left--) titles.push(readTitle(message));
  message.end();
  return { id, channel, mount, isNew, heard, titles };
}

export function writeTitle(message: MessageWriter, session: Session, title: HeardTitle): void {
  const { order, positionMs, view } = title;
  message.number(order).number(view.record.version).number(positionMs).text(session.json(title));
}

export function readTitle(message: MessageReader): CopiedTitle {
  return {
    order: message.number(),
    version: message.number(),
    positionMs: message.number(),
    json: message.text(MOST_JSON_BYTES),
  };
}
