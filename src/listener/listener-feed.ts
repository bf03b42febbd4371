/**
 * Between the listeners and the feed: what a session has written or heard goes to whoever watches its metaid, and a following track
 * to all who play its channel. One of the places where data crosses against the flow (design.md); made by app/app.ts.
 *
 * Invariant: nothing is rendered for nobody.
 */

import type { Feed, Sync } from '../feed/feed.js';
import type { RecordView } from '../metadata/view.js';
import type { HeardTitle, Session, SessionOutput, Sessions } from './sessions.js';

const TIMINGS: readonly Sync[] = ['audio', 'wire'];

export class ListenerFeed implements SessionOutput {
  readonly #feed: Feed;

  constructor(feed: Feed) {
    this.#feed = feed;
  }

  /** A session speaks from now on: what follows on its channel is told first. */
  onBegan(session: Session): void {
    const view = this.#feed.last(session.channel, 'next');
    if (view != null) this.#next(session, view);
  }

  onWritten(session: Session, told: HeardTitle): void {
    this.#now(session, told, 'wire');
  }

  onHeard(session: Session, told: HeardTitle): void {
    this.#now(session, told, 'audio');
  }

  /** A `next` is told to listeners on arrival, without a position. */
  next(view: RecordView, sessions: Sessions): void {
    for (const session of sessions.onChannel(view.record.channel)) this.#next(session, view);
  }

  #now(session: Session, told: HeardTitle, sync: Sync): void {
    if (this.#feed.isWatched(session.metaid, sync)) {
      this.#feed.publishListener(session.metaid, sync, session.nowMessage(told));
    }
  }

  #next(session: Session, view: RecordView): void {
    const watched = TIMINGS.filter((sync) => this.#feed.isWatched(session.metaid, sync));
    if (watched.length === 0) return;
    const message = session.nextMessage(view);
    for (const sync of watched) this.#feed.publishListener(session.metaid, sync, message);
  }
}
