/**
 * The sessions of this process by metaid: those that play, and those that ended recently. If several connections share a metaid, the newest that
 * still plays is the current session, and alone publishes to the feed. With workers it may be in another process (shared-sessions.ts).
 *
 *   live   metaid → its sessions, oldest first      current   channel → the current one of each metaid      gone   metaid → the last one
 */

import { LRUCache } from 'lru-cache';
import type { LateTitle } from '../../audio/playable-audio.js';
import type { Clock } from '../../base/clock.js';
import { differs, type PublishedSession, type SessionDirectory } from './readable-session.js';
import { Session, type SessionFacts, type SessionOutput } from './session.js';

/** Other processes, which may have sessions with the same metaids. */
export interface SessionPeers {
  onOpened(session: Session): void;
  /** The session continues at another mount. */
  onMoved(session: Session): void;
  /** This process has another session of this metaid now, or none. */
  onChanged(metaid: string): void;
  /** Whether a newer session of its metaid plays in another process. */
  isOutranked(session: Session): boolean;
}

export interface SessionsOptions {
  /** How long a session can be read after its connection has ended. */
  readonly keepMs: number;
  /** How many ended sessions are kept. */
  readonly max: number;
  /** A clock that all processes share. Absent: this is the only process. */
  readonly sharedMs?: () => number;
}

export class Sessions implements SessionDirectory {
  readonly #live = new Map<string, Session[]>();
  /** Current sessions by channel: a `next` goes to all of them. */
  readonly #current = new Map<string, Set<Session>>();
  readonly #gone: LRUCache<string, Session>;
  readonly #clock: Clock;
  readonly #output: SessionOutput;
  readonly #sharedMs: () => number;
  readonly #options: SessionsOptions;
  readonly #peers: SessionPeers | null;
  #count = 0;

  /** @param peers null: this is the only process */
  constructor(clock: Clock, output: SessionOutput, options: SessionsOptions, peers: SessionPeers | null = null) {
    this.#clock = clock;
    this.#output = output;
    this.#options = options;
    this.#peers = peers;
    this.#sharedMs = options.sharedMs ?? (() => clock.now());
    this.#gone = new LRUCache({
      disposeAfter: (_session, metaid) => this.#peers?.onChanged(metaid),
      max: options.max,
      // Uses our clock, which tests move, without the cache's own debounce.
      perf: { now: () => clock.now() },
      ttlResolution: 0,
    });
  }

  /** A connection with this metaid begins to play and becomes the current session. */
  open(facts: SessionFacts): Session {
    const session = new Session(facts, this.#sharedMs(), this.#clock, this.#output);
    const { metaid } = facts;
    const stack = this.#live.get(metaid);
    if (stack === undefined) this.#live.set(metaid, [session]);
    else {
      this.#setCurrent(stack.at(-1)!, false);
      stack.push(session);
    }
    this.#setCurrent(session, true);
    this.#output.onBegan(session);
    this.#peers?.onOpened(session);
    return session;
  }

  /** See Session.move. */
  move(session: Session, channel: string, mount: string): void {
    const { isCurrent } = session;
    const hasMoved = session.channel !== channel;
    this.#setCurrent(session, false);
    session.move(channel, mount);
    this.#setCurrent(session, isCurrent);
    if (isCurrent && hasMoved) this.#output.onBegan(session);
    this.#peers?.onMoved(session);
  }

  /** The connection has ended. An older one with the same metaid that still plays is current again. */
  close(session: Session): void {
    session.end();
    const stack = this.#live.get(session.metaid);
    const index = stack?.indexOf(session) ?? -1;
    if (stack === undefined || index < 0) return;
    stack.splice(index, 1);
    session.endedMs = this.#sharedMs();
    const wasCurrent = session.isCurrent;
    this.#setCurrent(session, false);
    const newest = stack.at(-1);
    if (newest === undefined) {
      this.#live.delete(session.metaid);
      this.#gone.set(session.metaid, session, { ttl: Math.max(1, this.#options.keepMs) });
    }
    this.#peers?.onChanged(session.metaid);
    if (newest !== undefined && wasCurrent && this.#peers?.isOutranked(newest) !== true) this.resume(newest, session);
  }

  /** A session of another process has become the current one of its metaid. */
  yield(session: Session): void {
    this.#setCurrent(session, false);
  }

  /** It is the current session again. @param last the session that published before; its messages are not repeated */
  resume(session: Session, last: PublishedSession | null): void {
    this.#setCurrent(session, true);
    const { lastWritten, lastHeard, channel } = session;
    if (channel !== last?.channel) this.#output.onBegan(session);
    if (lastWritten !== null && differs(session, last, 'wire')) this.#output.onWritten(session, lastWritten);
    if (lastHeard !== null && differs(session, last, 'audio')) this.#output.onHeard(session, lastHeard);
  }

  /** The session of this metaid: playing, or ended less than `keepMs` ago. */
  get(metaid: string): Session | undefined {
    return this.#live.get(metaid)?.at(-1) ?? this.#gone.get(metaid);
  }

  /** The session of this metaid while it plays. */
  playing(metaid: string): Session | undefined {
    return this.#live.get(metaid)?.at(-1);
  }

  /** The metaids of all sessions, also of those that have ended. */
  metaids(): readonly string[] {
    return [...new Set([...this.#live.keys(), ...this.#gone.keys()])];
  }

  /** All sessions that play, the newest of each metaid. */
  *live(): Iterable<Session> {
    for (const stack of this.#live.values()) yield stack.at(-1)!;
  }

  /** The current sessions on this channel, one per metaid. */
  onChannel(channel: string): Iterable<Session> {
    return this.#current.get(channel) ?? [];
  }

  /** A late title: sessions that are past its place get it at once, not with its block. */
  late(channel: string, late: LateTitle): void {
    for (const session of this.onChannel(channel)) session.late(late, this.#clock.now());
  }

  /** Current sessions of this process: each metaid counts once over all processes. */
  get count(): number {
    return this.#count;
  }

  /** Drops expired sessions; the cache runs no timer of its own. */
  purge(): void {
    this.#gone.purgeStale();
  }

  #setCurrent(session: Session, isCurrent: boolean): void {
    if (session.isCurrent === isCurrent) return;
    session.isCurrent = isCurrent;
    this.#count += isCurrent ? 1 : -1;
    let current = this.#current.get(session.channel);
    if (current === undefined) this.#current.set(session.channel, (current = new Set()));
    if (isCurrent) current.add(session);
    else current.delete(session);
  }
}
