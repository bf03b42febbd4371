/**
 * From the listeners to the feed: a title that a session was sent or has heard goes to the watchers of its metaid, a following track
 * to the watchers of all sessions on its channel. Here data flows against the layers (src/README.md); made by app/worker/worker.ts.
 *
 * Invariant: a message that no watcher reads is not rendered.
 */

import type { Feed, Sync } from '../../feed/feed.js';
import type { RecordView } from '../../metadata/view.js';
import type { ReadableSession } from './readable-session.js';
import type { HeardTitle, Session, SessionOutput } from './session.js';
import type { Sessions } from './sessions.js';
import type { SharedSessions } from './shared-sessions.js';

const TIMINGS: readonly Sync[] = ['audio', 'wire'];

export class ListenerFeed implements SessionOutput {
  readonly #feed: Feed;
  readonly #shared: SharedSessions | null;

  /** @param shared the sessions of other processes; null: this is the only process */
  constructor(feed: Feed, shared: SharedSessions | null = null) {
    this.#feed = feed;
    this.#shared = shared;
  }

  /** A session has become the current one of its metaid: the channel's following track goes first. */
  onBegan(session: Session): void {
    const view = this.#feed.last(session.channel, 'next');
    if (view != null) this.#next(session, view);
  }

  onWritten(session: Session, title: HeardTitle): void {
    this.#now(session, title, 'wire');
    this.#shared?.onWritten(session, title);
  }

  onHeard(session: Session, title: HeardTitle): void {
    this.#now(session, title, 'audio');
    this.#shared?.onHeard(session, title);
  }

  /** A `next` goes out on arrival, without a position. */
  next(view: RecordView, sessions: Sessions): void {
    const { channel } = view.record;
    for (const session of sessions.onChannel(channel)) this.#next(session, view);
    if (this.#shared !== null) for (const session of this.#shared.onChannel(channel)) this.#next(session, view);
  }

  #now(session: Session, title: HeardTitle, sync: Sync): void {
    if (this.#feed.isWatched(session.metaid, sync)) {
      this.#feed.publishListener(session.metaid, sync, session.nowMessage(title));
    }
  }

  #next(session: ReadableSession & { readonly metaid: string }, view: RecordView): void {
    const watched = TIMINGS.filter((sync) => this.#feed.isWatched(session.metaid, sync));
    if (watched.length === 0) return;
    const message = session.nextMessage(view);
    for (const sync of watched) this.#feed.publishListener(session.metaid, sync, message);
  }
}
