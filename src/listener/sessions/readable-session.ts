/** A session as readers of its metaid get it, wherever it plays, and where they look for it. */

import { Message, type Sync } from '../../feed/feed.js';
import type { RecordView } from '../../metadata/view.js';

/** Of a session what has to be known to repeat nothing of it. */
export interface PublishedSession {
  readonly id: string;
  readonly channel: string;
  /** Of the record that was heard (`audio`) or written (`wire`) last; null: none. */
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
  /** Playing, or ended less than `keepMs` ago. Rejects with a Refusal where another process has it and cannot be asked. */
  get(metaid: string): ReadableSession | undefined | Promise<ReadableSession | undefined>;
  /** While it plays, as far as this process knows it. */
  playing(metaid: string): ReadableSession | undefined;
  /**
   * Calls back once when a session plays and this process knows it; null: that is so now.
   * @returns ends the waiting
   */
  await?(metaid: string, onKnown: () => void): (() => void) | null;
}

/** Whether the last record of `session` is another than the one that was published last. */
export function differs(session: PublishedSession, last: PublishedSession | null, sync: Sync): boolean {
  return session.channel !== last?.channel || session.version(sync) !== last.version(sync);
}

/** As it is at this moment. */
export function publishedOf(session: PublishedSession): PublishedSession {
  const { id, channel } = session;
  const [heard, written] = [session.version('audio'), session.version('wire')];
  return { id, channel, version: (sync) => (sync === 'audio' ? heard : written) };
}

/** As readers of the listener scope get a following track; where it was dropped, another message. */
export function nextMessageOf({ id, mount }: Pick<ReadableSession, 'id' | 'mount'>, view: RecordView): Message {
  const stamp = (view.record.stamp ?? 0).toString(36);
  return new Message('next', `${id}~${stamp}${view.title === '' ? '-' : ''}`, view.listenerJson(id, '', mount));
}
