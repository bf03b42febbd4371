/**
 * The sessions of all processes, as one worker knows them. It always knows which metaids have a session in another process, but receives that
 * session's titles only while it follows the session: while the metaid has a watcher here, and for some time after a poll.
 *
 *   elsewhere   metaid → the first session of the other processes (remote-sessions.ts)
 *   followed    metaid → a copy of that session, from which polls and watchers here are served (followed-sessions.ts)
 *
 * Invariant: a watcher gets the same messages in the same order as at the session's own worker. A `next` is not relayed: each worker has it from
 * the hub, and sends it to its own watchers. A metaid is a secret: it is never logged.
 */

import type { Clock } from '../../base/clock.js';
import { retryLater } from '../../base/refusal.js';
import type { Feed } from '../../feed/feed.js';
import { type FollowedSession, FollowedSessions } from './followed-sessions.js';
import type { OtherReports, ReportBudget, ReportVerdict } from './heard-reports.js';
import { publishedOf, type ReadableSession, type SessionDirectory } from './readable-session.js';
import { type RemoteSession, RemoteSessions } from './remote-sessions.js';
import type { HeardTitle, Session } from './session.js';
import type { CopiedTitle, SessionCopy, SessionState } from './session-copy.js';
import { isSameSession, plays, type SessionLocation, type SessionTimes } from './session-location.js';
import type { SessionPeers, Sessions } from './sessions.js';

const RETRY_SECONDS = 1;

/** Messages to the other processes (link/sessions/worker-sessions.ts). */
export interface SessionLink {
  /** False: there is no hub now. */
  readonly isOpen: boolean;
  /** Reports the first session of this process; null: it has none. */
  reportFirst(metaid: string, session: SessionTimes | null): void;
  /** Starts or stops following the session of this metaid. */
  follow(metaid: string, isFollowed: boolean): void;
  /** Requests its state (`onState`). */
  ask(metaid: string): void;
  /** @param to the worker that gets it; 0: all followers */
  state(session: Session, isNew: boolean, to: number): void;
  written(session: Session, title: HeardTitle): void;
  heard(session: Session, title: HeardTitle): void;
  /** Passes a player's report on. Does not reject. */
  report(metaid: string, bytes: Buffer): Promise<ReportVerdict>;
}

export interface SharedSessionsParts {
  /** The number of this process. */
  readonly worker: number;
  /** Those of this process. They get these as their peers, so this is not called before both are made. */
  sessions(): Sessions;
  readonly feed: Feed;
  readonly clock: Clock;
  readonly link: SessionLink;
  onError(error: unknown): void;
}

export class SharedSessions implements SessionDirectory, SessionPeers, OtherReports {
  readonly #parts: SharedSessionsParts;
  readonly #remote: RemoteSessions;
  readonly #followed: FollowedSessions;
  /** Metaids that other processes follow. */
  readonly #followers = new Set<string>();

  constructor(parts: SharedSessionsParts) {
    this.#parts = parts;
    const { feed, clock, link, onError } = parts;
    this.#remote = new RemoteSessions(parts, (metaid) => this.#onRanked(metaid));
    this.#followed = new FollowedSessions(clock, feed, onError, (metaid, isFollowed) =>
      link.follow(metaid, isFollowed),
    );
    feed.onListenerWatched((metaid, isWatched) => this.#onWatched(metaid, isWatched));
  }

  get(metaid: string): ReadableSession | undefined | Promise<ReadableSession | undefined> {
    const remote = this.#remote.ahead(metaid);
    if (remote === null) return this.#parts.sessions().get(metaid);
    const followed = this.#follow(metaid);
    this.#followed.linger(followed);
    const known = this.#known(followed, remote);
    if (known !== null) return known;
    return new Promise((resolve, reject) => {
      this.#followed.awaitPoll(followed, () => {
        const ahead = this.#remote.ahead(metaid);
        if (ahead === null) resolve(this.#parts.sessions().get(metaid));
        else {
          const copy = this.#known(followed, ahead);
          if (copy !== null) resolve(copy);
          else reject(retryLater('unavailable', 'Part of the server is restarting.', RETRY_SECONDS));
        }
      });
      if (!this.#parts.link.isOpen) this.#followed.giveUp(followed);
    });
  }

  playing(metaid: string): ReadableSession | undefined {
    const remote = this.#remote.ahead(metaid);
    if (remote === null) return this.#parts.sessions().playing(metaid);
    const followed = this.#followed.get(metaid);
    if (!plays(remote.location) || followed === undefined) return undefined;
    return this.#known(followed, remote) ?? undefined;
  }

  await(metaid: string, onKnown: () => void): (() => void) | null {
    return this.playing(metaid) === undefined ? this.#followed.await(this.#follow(metaid), onKnown) : null;
  }

  /** Copies of sessions that play on this channel and are current. */
  *onChannel(channel: string): Iterable<SessionCopy> {
    for (const { metaid, copy } of this.#followed.onChannel(channel)) {
      const remote = this.#remote.ahead(metaid);
      if (remote !== null && plays(remote.location) && isSameSession(copy!.location, remote.location)) yield copy!;
    }
  }

  /** How many metaids have a session in other processes, playing or ended. */
  get count(): number {
    return this.#remote.count;
  }

  /** The budget for reports to another process. Null: the session is in this process, or there is none. */
  budgetOf(metaid: string): ReportBudget | 'not-playing' | null {
    const remote = this.#remote.ahead(metaid);
    if (remote === null) return null;
    return plays(remote.location) ? remote : 'not-playing';
  }

  report(metaid: string, bytes: Buffer): Promise<ReportVerdict> {
    return this.#parts.link.report(metaid, bytes);
  }

  /** Once a second: stops following sessions without readers. */
  tidy(): void {
    this.#followed.tidy();
  }

  // Sessions of this process.

  onOpened(session: Session): void {
    const { link } = this.#parts;
    const { metaid } = session;
    link.reportFirst(metaid, session);
    if (this.#followers.has(metaid)) link.state(session, true, 0);
    const followed = this.#followed.get(metaid);
    if (followed === undefined) return;
    this.#followed.setCopy(followed, null);
    followed.published = session;
    this.#wake(followed);
  }

  onMoved(session: Session): void {
    if (this.#followers.has(session.metaid)) this.#parts.link.state(session, false, 0);
  }

  onChanged(metaid: string): void {
    const sessions = this.#parts.sessions();
    this.#parts.link.reportFirst(metaid, sessions.get(metaid) ?? null);
    const followed = this.#followed.get(metaid);
    if (followed === undefined) return;
    const playing = sessions.playing(metaid);
    if (playing !== undefined && !this.isOutranked(playing)) followed.published = playing;
    this.#look(followed);
  }

  isOutranked(session: Session): boolean {
    return this.#remote.outranks(session);
  }

  onWritten(session: Session, title: HeardTitle): void {
    if (this.#followers.has(session.metaid)) this.#parts.link.written(session, title);
  }

  onHeard(session: Session, title: HeardTitle): void {
    if (this.#followers.has(session.metaid)) this.#parts.link.heard(session, title);
  }

  // From the hub.

  /** Connected to a hub: reports the sessions of this process; the hub will report those of the others. */
  onLinked(): void {
    const sessions = this.#parts.sessions();
    const { link } = this.#parts;
    for (const metaid of sessions.metaids()) link.reportFirst(metaid, sessions.get(metaid) ?? null);
    for (const { metaid } of this.#followed.all()) link.follow(metaid, true);
    this.#remote.onLinked();
  }

  /** The hub is lost. What is known stays, but is no longer updated. */
  onLost(): void {
    this.#remote.onLost();
    this.#followers.clear();
    for (const followed of this.#followed.all()) {
      followed.isFresh = false;
      this.#followed.giveUp(followed);
    }
  }

  /** The first session of a metaid in the other processes has changed; null: there is none. */
  onFirst(metaid: string, location: SessionLocation | null): void {
    this.#remote.set(metaid, location);
    this.#onRanked(metaid);
  }

  /** Another session of this metaid may have become the first. */
  #onRanked(metaid: string): void {
    const sessions = this.#parts.sessions();
    const own = sessions.playing(metaid);
    const followed = this.#followed.get(metaid);
    if (own !== undefined) {
      const isOutranked = this.isOutranked(own);
      if (isOutranked) {
        if (followed?.published === own) followed.published = publishedOf(own);
        sessions.yield(own);
      } else if (!own.isCurrent) {
        const last = followed?.published ?? null;
        if (followed !== undefined) followed.published = own;
        sessions.resume(own, last);
      }
    }
    if (followed !== undefined) this.#look(followed);
  }

  onFollow(metaid: string, isFollowed: boolean): void {
    if (isFollowed) this.#followers.add(metaid);
    else this.#followers.delete(metaid);
  }

  /** Another worker requests the state of our session. */
  onAsk(metaid: string, worker: number): void {
    const session = this.#parts.sessions().get(metaid);
    if (session !== undefined) this.#parts.link.state(session, false, worker);
  }

  onState(metaid: string, worker: number, sinceMs: number, state: SessionState): void {
    const followed = this.#followed.get(metaid);
    const location = this.#remote.ahead(metaid)?.location;
    if (followed === undefined || location === undefined || !isSameSession(location, { worker, sinceMs })) return;
    this.#followed.catchUp(followed, location, state);
    this.#wake(followed);
  }

  onTitle(metaid: string, worker: number, sinceMs: number, title: CopiedTitle): void {
    const copy = this.#copyOf(metaid, { worker, sinceMs });
    if (copy !== null) this.#followed.publish(copy, 'wire', copy.write(title));
  }

  /** @param order of the title */
  onHeardTitle(metaid: string, worker: number, sinceMs: number, order: number): void {
    const copy = this.#copyOf(metaid, { worker, sinceMs });
    const message = copy?.hear(order) ?? null;
    if (copy !== null && message !== null) this.#followed.publish(copy, 'audio', message);
  }

  #known({ copy }: FollowedSession, { location }: RemoteSession): SessionCopy | null {
    return copy !== null && isSameSession(copy.location, location) ? copy : null;
  }

  #copyOf(metaid: string, session: Pick<SessionLocation, 'worker' | 'sinceMs'>): SessionCopy | null {
    const copy = this.#followed.get(metaid)?.copy ?? null;
    const location = this.#remote.ahead(metaid)?.location;
    return copy !== null &&
      location !== undefined &&
      isSameSession(location, session) &&
      isSameSession(copy.location, session)
      ? copy
      : null;
  }

  #onWatched(metaid: string, isWatched: boolean): void {
    const followed = isWatched ? this.#follow(metaid) : this.#followed.get(metaid);
    if (followed !== undefined) followed.isWatched = isWatched;
    if (!isWatched) this.#followed.tidyOne(metaid);
  }

  #follow(metaid: string): FollowedSession {
    const followed = this.#followed.get(metaid);
    if (followed !== undefined) return followed;
    const playing = this.#parts.sessions().playing(metaid);
    const published = playing !== undefined && !this.isOutranked(playing) ? playing : null;
    const begun = this.#followed.begin(metaid, published);
    this.#look(begun);
    return begun;
  }

  /** After any change: drops a copy of the wrong session, requests a missing one, and serves waiting readers. */
  #look(followed: FollowedSession): void {
    const ahead = this.#remote.ahead(followed.metaid);
    if (followed.copy !== null && (ahead === null || !isSameSession(followed.copy.location, ahead.location))) {
      this.#followed.setCopy(followed, null);
    }
    if (ahead === null) this.#wake(followed);
    else if (followed.copy === null || !followed.isFresh) this.#parts.link.ask(followed.metaid);
  }

  /** The session is known. Watchers begin only with a session that plays. */
  #wake(followed: FollowedSession): void {
    this.#followed.giveUp(followed);
    if (this.playing(followed.metaid) !== undefined) this.#followed.wakeWatchers(followed);
  }
}
