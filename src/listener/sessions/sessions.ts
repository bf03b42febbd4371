/**
 * Sessions: what each listener with a metaid was sent and hears. A title is *written* when its ICY block goes to the socket and
 * *heard* when a player that has played in real time since its first byte gets there (src/listener/README.md, "Written and heard"):
 *
 *   session start ────────────── position ──────────►│ heard
 *        └ first byte written    written │── not yet ─┘
 *
 * When that is, the player's clock says (player-clock.ts), which stalls and reports move.
 * Of several connections with one metaid the newest still playing is the current session; it alone publishes to the feed. With workers it may
 * play in another process (shared-sessions.ts).
 */

import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { LateTitle } from '../../audio/playable-audio.js';
import type { Mark } from '../../audio/tape/mark.js';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import { Message, type Sync } from '../../feed/feed.js';
import type { RecordView } from '../../metadata/view.js';
import { PlayerClock } from '../player/player-clock.js';
import {
  differs,
  nextMessageOf,
  type PublishedSession,
  type ReadableSession,
  type SessionDirectory,
} from './readable-session.js';
import type { SessionTimes } from './session-place.js';

/** A title at its place in one listener's stream. */
export interface HeardTitle {
  readonly view: RecordView;
  /** Milliseconds of audio between the listener's first byte and the place where the title takes effect. */
  readonly positionMs: number;
  /** The path that is played there. */
  readonly mount: string;
  /** Rises with every title of a session. */
  readonly order: number;
}

/** Where the titles go: the feed's listener topics. Wired in app/app.ts. */
export interface SessionOutput {
  /** This session has become the current one of its metaid; called before any title of it. */
  onBegan(session: Session): void;
  onWritten(session: Session, title: HeardTitle): void;
  onHeard(session: Session, title: HeardTitle): void;
}

/** Other processes, which may have sessions with the same metaids. */
export interface SessionPeers {
  onOpened(session: Session): void;
  /** It plays at another mount. */
  onMoved(session: Session): void;
  /** What this process has of a metaid is another session now, or none. */
  onChanged(metaid: string): void;
  /** Whether a newer one plays in another process. */
  isOutranked(session: Session): boolean;
}

export interface SessionFacts {
  readonly metaid: string;
  readonly channel: string;
  readonly mount: string;
  /** Of its player (player-clock.ts). */
  readonly blockBytes?: number | undefined;
}

export class Session implements AlarmHandler, ReadableSession, SessionTimes {
  readonly id = randomUUID();
  readonly metaid: string;
  readonly sinceMs: number;
  endedMs = Number.POSITIVE_INFINITY;
  lastWritten: HeardTitle | null = null;
  lastHeard: HeardTitle | null = null;
  /** Whether it is the newest still playing of its metaid. */
  isCurrent = false;
  /** Begun and written by its listener. */
  readonly player: PlayerClock;
  /** Until when there were reports enough (heard-reports.ts). */
  reportableMs = Number.NEGATIVE_INFINITY;
  #channel: string;
  #mount: string;
  /** Audio time on the tape at which its position 0 lies; null: it has not begun on that tape. */
  #zeroMs: number | null = null;
  /** The last that it was given of that tape. */
  #mark: Mark | null = null;
  readonly #unheard: HeardTitle[] = [];
  #alarm: Alarm | null = null;
  readonly #clock: Clock;
  readonly #output: SessionOutput;

  /** @param sinceMs when it was opened, by a clock that all processes share */
  constructor(
    { metaid, channel, mount, blockBytes }: SessionFacts,
    sinceMs: number,
    clock: Clock,
    output: SessionOutput,
  ) {
    this.metaid = metaid;
    this.sinceMs = sinceMs;
    this.#channel = channel;
    this.#mount = mount;
    this.player = new PlayerClock(blockBytes);
    this.#clock = clock;
    this.#output = output;
  }

  get channel(): string {
    return this.#channel;
  }

  get mount(): string {
    return this.#mount;
  }

  /** The record of a title of this session, as readers of the listener scope get it. */
  json(title: HeardTitle): string {
    return title.view.listenerJson(this.id, String(Math.round(title.positionMs)), title.mount);
  }

  /** The same as a message; its id says session and position. */
  nowMessage(title: HeardTitle): Message {
    return new Message('now', `${this.id}~${Math.round(title.positionMs)}`, this.json(title));
  }

  now(sync: Sync): Message | null {
    const title = this.#last(sync);
    return title && this.nowMessage(title);
  }

  version(sync: Sync): number | null {
    return this.#last(sync)?.view.record.version ?? null;
  }

  nextMessage(view: RecordView): Message {
    return nextMessageOf(this, view);
  }

  /** What readers have to be given of it: the last title that was heard, those that wait, the last one that was written. */
  get titles(): readonly HeardTitle[] {
    return [...new Set([this.lastHeard, ...this.#unheard, this.lastWritten])].filter((title) => title !== null);
  }

  /** Its connection goes on at another mount, or with another tape: what it was sent before that is heard first. */
  move(channel: string, mount: string): void {
    this.#channel = channel;
    this.#mount = mount;
    this.#zeroMs = null;
    this.#mark = null;
  }

  /**
   * The first audio byte of a tape is written.
   * @param joinMs its audio time on the tape @param mark in force there @param baseMs its position, behind what other tapes gave
   */
  begin(joinMs: number, mark: Mark | null, nowMs: number, baseMs = 0): void {
    this.#zeroMs = joinMs - baseMs;
    if (mark === null) return;
    if (baseMs > 0 && this.#isLast(mark)) this.#mark = mark;
    else this.written(mark, joinMs, nowMs);
  }

  /** Whether it is the title that was written last, on another tape. */
  #isLast({ view: { record } }: Mark): boolean {
    const last = this.lastWritten?.view.record;
    return last?.version === record.version && last.channel === record.channel;
  }

  /** What this listener was sent already has another title: it gets this one at once, unless it still waits for the one before it. */
  late({ before, mark, atMs }: LateTitle, nowMs: number): void {
    const isSent = this.#zeroMs !== null && atMs < this.#zeroMs + this.player.writtenMs;
    if (isSent && this.#mark === before) this.written(mark, atMs, nowMs);
  }

  /** The block with this title is written. @param atMs audio time on the tape at which it takes effect */
  written(mark: Mark, atMs: number, nowMs: number): void {
    // A late title was given before the segment that carries it.
    if (this.#mark !== null && mark.order <= this.#mark.order) return;
    this.#mark = mark;
    const positionMs = Math.max(0, atMs - (this.#zeroMs ?? atMs));
    const title = { view: mark.view, positionMs, mount: this.#mount, order: (this.lastWritten?.order ?? -1) + 1 };
    this.lastWritten = title;
    if (this.isCurrent) this.#output.onWritten(this, title);
    this.#unheard.push(title);
    this.release(nowMs);
  }

  /** Where its player says that it is. False: it cannot be there. */
  report(heardMs: number, nowMs: number): boolean {
    if (!this.player.report(heardMs, nowMs)) return false;
    this.release(nowMs);
    return true;
  }

  onAlarm(nowMs: number): void {
    this.#alarm = null;
    this.release(nowMs);
  }

  /** Sends what is heard by now. Also to be called when more is known of its player: it may be due earlier than thought. */
  release(nowMs: number): void {
    for (;;) {
      const title = this.#unheard[0];
      if (title === undefined) return;
      const dueMs = this.player.dueMs(title.positionMs, nowMs);
      if (dueMs > nowMs) {
        this.#wake(dueMs);
        return;
      }
      this.#unheard.shift();
      this.lastHeard = title;
      if (this.isCurrent) this.#output.onHeard(this, title);
    }
  }

  /** The connection has ended: nothing more is heard. */
  end(): void {
    this.#alarm?.cancel();
    this.#alarm = null;
    this.#unheard.length = 0;
  }

  #last(sync: Sync): HeardTitle | null {
    return sync === 'audio' ? this.lastHeard : this.lastWritten;
  }

  /** An alarm that comes too early looks again, and +∞ needs none. */
  #wake(dueMs: number): void {
    if (dueMs === Number.POSITIVE_INFINITY || (this.#alarm !== null && this.#alarm.dueMs <= dueMs)) return;
    this.#alarm?.cancel();
    this.#alarm = this.#clock.alarm(dueMs, this);
  }
}

export interface SessionsOptions {
  /** How long a session can be read after its connection has ended. */
  readonly keepMs: number;
  /** How many such are kept. */
  readonly max: number;
  /** The time, by a clock that all processes share; absent: there are no others. */
  readonly sharedMs?: () => number;
}

export class Sessions implements SessionDirectory {
  /** Null: this is the only process. */
  peers: SessionPeers | null = null;
  readonly #live = new Map<string, Session[]>();
  /** Current sessions by channel: a `next` goes to all of them. */
  readonly #current = new Map<string, Set<Session>>();
  readonly #gone: LRUCache<string, Session>;
  readonly #clock: Clock;
  readonly #output: SessionOutput;
  readonly #sharedMs: () => number;
  readonly #options: SessionsOptions;
  #count = 0;

  constructor(clock: Clock, output: SessionOutput, options: SessionsOptions) {
    this.#clock = clock;
    this.#output = output;
    this.#options = options;
    this.#sharedMs = options.sharedMs ?? (() => clock.now());
    this.#gone = new LRUCache({
      disposeAfter: (_session, metaid) => this.peers?.onChanged(metaid),
      max: options.max,
      // Our clock, without the cache's own debounce: tests move it.
      perf: { now: () => clock.now() },
      ttlResolution: 0,
    });
  }

  /** A connection with this metaid begins to play; it is the current session now. */
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
    this.peers?.onOpened(session);
    return session;
  }

  /** Its connection goes on at another mount, or with another tape. */
  move(session: Session, channel: string, mount: string): void {
    const { isCurrent } = session;
    const isElsewhere = session.channel !== channel;
    this.#setCurrent(session, false);
    session.move(channel, mount);
    this.#setCurrent(session, isCurrent);
    if (isCurrent && isElsewhere) this.#output.onBegan(session);
    this.peers?.onMoved(session);
  }

  /** The connection has ended. Where an older one with the same metaid still plays, that is the current session again. */
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
    this.peers?.onChanged(session.metaid);
    if (newest !== undefined && wasCurrent && this.peers?.isOutranked(newest) !== true) this.resume(newest, session);
  }

  /** A session of another process has become the current one of its metaid. */
  yield(session: Session): void {
    this.#setCurrent(session, false);
  }

  /** It is the current session again. @param last the one before; what that has published is not repeated */
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

  /** All sessions that play on this channel, one per metaid. */
  onChannel(channel: string): Iterable<Session> {
    return this.#current.get(channel) ?? [];
  }

  /** A title came late: listeners who are past its place get it at once, not with its block. */
  late(channel: string, late: LateTitle): void {
    for (const session of this.onChannel(channel)) session.late(late, this.#clock.now());
  }

  /** How many play, one per metaid of all processes. */
  get count(): number {
    return this.#count;
  }

  /** Drops those that ended too long ago; the cache runs no timer of its own. */
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
