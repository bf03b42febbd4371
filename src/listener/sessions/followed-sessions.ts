/**
 * The metaids whose sessions in other processes are followed here: the readers that wait for them, and the messages that watchers get. Owned by
 * SharedSessions.
 */

import type { Alarm, Clock } from '../../base/clock.js';
import type { Feed, Message, Sync } from '../../feed/feed.js';
import { differs, type PublishedSession, publishedOf } from './readable-session.js';
import { SessionCopy, type SessionState } from './session-copy.js';
import { plays, type SessionLocation } from './session-location.js';

/** How long a session is followed after a poll: the next poll is likely to come. */
const LINGER_MS = 10_000;
/** How long a poll waits for another process. */
const PATIENCE_MS = 2000;

export interface FollowedSession {
  readonly metaid: string;
  isWatched: boolean;
  /** Until when it is followed without a watcher, on the clock. */
  untilMs: number;
  /** A copy of the metaid's first session, if another process has it and has sent its state. */
  copy: SessionCopy | null;
  /** Whether the copy is complete; not after the hub was lost, until the state is sent again. */
  isFresh: boolean;
  /** The session whose messages the watchers here got last; it may have ended. */
  published: PublishedSession | null;
  /** Watchers that wait until the session is known, and polls, which wait for PATIENCE_MS. */
  readonly waiting: Set<() => void>;
  readonly polling: Set<() => void>;
  alarm: Alarm | null;
}

export class FollowedSessions {
  readonly #followed = new Map<string, FollowedSession>();
  readonly #onChannel = new Map<string, Set<FollowedSession>>();
  readonly #clock: Clock;
  readonly #feed: Pick<Feed, 'publishListener' | 'last'>;
  readonly #onError: (error: unknown) => void;
  readonly #onFollow: (metaid: string, isFollowed: boolean) => void;

  constructor(
    clock: Clock,
    feed: Pick<Feed, 'publishListener' | 'last'>,
    onError: (error: unknown) => void,
    onFollow: (metaid: string, isFollowed: boolean) => void,
  ) {
    this.#clock = clock;
    this.#feed = feed;
    this.#onError = onError;
    this.#onFollow = onFollow;
  }

  get(metaid: string): FollowedSession | undefined {
    return this.#followed.get(metaid);
  }

  all(): Iterable<FollowedSession> {
    return this.#followed.values();
  }

  /** Sessions whose copy is on this channel. */
  onChannel(channel: string): Iterable<FollowedSession> {
    return this.#onChannel.get(channel) ?? [];
  }

  begin(metaid: string, published: PublishedSession | null): FollowedSession {
    const followed: FollowedSession = {
      metaid,
      isWatched: false,
      untilMs: this.#clock.now(),
      copy: null,
      isFresh: false,
      published,
      waiting: new Set(),
      polling: new Set(),
      alarm: null,
    };
    this.#followed.set(metaid, followed);
    this.#onFollow(metaid, true);
    return followed;
  }

  setCopy(followed: FollowedSession, copy: SessionCopy | null): void {
    if (followed.copy === copy) return;
    this.#leaveChannel(followed);
    followed.copy = copy;
    followed.isFresh = false;
    if (copy === null) return;
    let others = this.#onChannel.get(copy.channel);
    if (others === undefined) this.#onChannel.set(copy.channel, (others = new Set()));
    others.add(followed);
  }

  /**
   * The process that has the session has sent its state: watchers get the messages that they have missed.
   * @param location of the metaid's first session, which has this state
   */
  catchUp(followed: FollowedSession, location: SessionLocation, state: SessionState): void {
    const { published } = followed;
    const isPublished = published instanceof SessionCopy && published.id === state.id;
    const copy = followed.copy ?? (isPublished ? published : new SessionCopy(followed.metaid, location, state));
    const channelBefore = published?.channel;
    // It may be on another channel now.
    if (copy.channel !== state.channel) this.setCopy(followed, null);
    copy.location = location;
    // The copy of an ended session serves polls only: watchers get no more of its messages.
    if (isPublished && !plays(location)) followed.published = publishedOf(published);
    const { written, heard } = copy.catchUp(state);
    this.setCopy(followed, copy);
    followed.isFresh = true;
    if (!plays(location)) return;
    followed.published = copy;
    const isFirst = published === null || state.isNew;
    if ((!isPublished && isFirst) || channelBefore !== copy.channel) this.#publishNext(copy);
    for (const [sync, missed] of [
      ['wire', written],
      ['audio', heard],
    ] as const) {
      const isOther = isPublished || isFirst || differs(copy, published, sync);
      // An older session that is current again: only its last record, as readers may have had the earlier ones.
      for (const message of isPublished || isFirst ? missed : missed.slice(-1))
        if (isOther) this.publish(copy, sync, message);
    }
  }

  /** Sends a message to the watchers of this metaid. */
  publish({ metaid }: SessionCopy, sync: Sync, message: Message): void {
    this.#feed.publishListener(metaid, sync, message);
  }

  #publishNext(copy: SessionCopy): void {
    const view = this.#feed.last(copy.channel, 'next');
    if (view == null) return;
    const message = copy.nextMessage(view);
    this.publish(copy, 'audio', message);
    this.publish(copy, 'wire', message);
  }

  /** After a poll the session stays followed for LINGER_MS. */
  linger(followed: FollowedSession): void {
    followed.untilMs = this.#clock.now() + LINGER_MS;
  }

  /** Calls back once, when a session plays and is known. @returns cancels it */
  await(followed: FollowedSession, onKnown: () => void): () => void {
    followed.waiting.add(onKnown);
    return () => {
      if (followed.waiting.delete(onKnown)) this.tidyOne(followed.metaid);
    };
  }

  /** The same for a poll, which waits at most PATIENCE_MS. */
  awaitPoll(followed: FollowedSession, onKnown: () => void): void {
    followed.polling.add(onKnown);
    followed.alarm ??= this.#clock.alarm(this.#clock.now() + PATIENCE_MS, { onAlarm: () => this.giveUp(followed) });
  }

  wakeWatchers(followed: FollowedSession): void {
    this.#call(followed.waiting);
  }

  /** Lets all waiting polls continue, whether the session is known or not. */
  giveUp(followed: FollowedSession): void {
    followed.alarm?.cancel();
    followed.alarm = null;
    this.#call(followed.polling);
  }

  tidy(): void {
    for (const metaid of this.#followed.keys()) this.tidyOne(metaid);
  }

  /** Stops following it if it has no reader. */
  tidyOne(metaid: string): void {
    const followed = this.#followed.get(metaid);
    if (followed === undefined || followed.isWatched || followed.waiting.size + followed.polling.size > 0) return;
    if (followed.untilMs > this.#clock.now()) return;
    this.#leaveChannel(followed);
    this.#followed.delete(metaid);
    this.#onFollow(metaid, false);
  }

  #call(callbacks: Set<() => void>): void {
    const all = [...callbacks];
    callbacks.clear();
    for (const onKnown of all) {
      try {
        onKnown();
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  #leaveChannel(followed: FollowedSession): void {
    if (followed.copy === null) return;
    const { channel } = followed.copy;
    const others = this.#onChannel.get(channel);
    others?.delete(followed);
    if (others?.size === 0) this.#onChannel.delete(channel);
  }
}
