/** A session as readers of its metaid see it, whichever process plays it, and the directory in which they find it. */

import { Message, type Sync } from '../../feed/feed.js';
import type { RecordView } from '../../metadata/view.js';

/** What was published of a session, so that it is not repeated. */
export interface PublishedSession {
  readonly id: string;
  readonly channel: string;
  /** The version of the last record heard (`audio`) or written (`wire`); null: none. */
  version(sync: Sync): number | null;
}

export interface ReadableSession extends PublishedSession {
  readonly mount: string;
  /** That record; null: none. */
  now(sync: Sync): Message | null;
  /** A following track, which has no position. */
  nextMessage(view: RecordView): Message;
}

/** Where readers look for the session of a metaid. */
export interface SessionDirectory {
  /** Playing, or ended less than `keepMs` ago. Rejects with a Refusal if the process that has it cannot be reached. */
  get(metaid: string): ReadableSession | undefined | Promise<ReadableSession | undefined>;
  /** The same, but only while it plays, and without asking other processes. */
  playing(metaid: string): ReadableSession | undefined;
  /** Calls back once, when a session plays and this process knows it. @returns cancels it; null: it does already */
  await?(metaid: string, onKnown: () => void): (() => void) | null;
}

/** Whether the last record of `session` differs from the one that was published last. */
export function differs(session: PublishedSession, last: PublishedSession | null, sync: Sync): boolean {
  return session.channel !== last?.channel || session.version(sync) !== last.version(sync);
}

/** A snapshot of what was published. */
export function publishedOf(session: PublishedSession): PublishedSession {
  const { id, channel } = session;
  const [heard, written] = [session.version('audio'), session.version('wire')];
  return { id, channel, version: (sync) => (sync === 'audio' ? heard : written) };
}

/**
 * A title that a listener was sent or hears. Its id does not use the position: a correction has that of the title before it, and a late title may.
 * @param id of the session @param order of the title in it @param json its record
 */
export function nowMessageOf(id: string, order: number, json: string): Message {
  return new Message('now', `${id}~${order}`, json);
}

/** A following track as readers of the listener scope get it; a withdrawn one has an id of its own. */
export function nextMessageOf({ id, mount }: Pick<ReadableSession, 'id' | 'mount'>, view: RecordView): Message {
  const stamp = (view.record.stamp ?? 0).toString(36);
  return new Message('next', `${id}~${stamp}${view.title === '' ? '-' : ''}`, view.listenerJson(id, '', mount));
}
