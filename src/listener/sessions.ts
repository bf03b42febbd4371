/**
 * Sessions: what each listener with a metaid was sent and hears. A title is *written* when its ICY block goes to the socket and
 * *heard* when a player that has played in real time since its first byte gets there (src/listener/README.md, "Written and heard"):
 *
 *   session start ────────────── position ──────────►│ heard
 *        └ first byte written    written │── not yet ─┘
 *
 * When that is, the player's clock says (player-clock.ts), which stalls and reports move.
 * Of several connections with one metaid the newest still playing is the current session; it alone publishes to the feed.
 */

import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { LateTitle } from '../audio/channel-audio.js';
import type { Mark } from '../audio/mark.js';
import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import { Message } from '../feed/feed.js';
import type { RecordView } from '../metadata/view.js';
import { PlayerClock } from './player-clock.js';

/** A title at its place in one listener's stream. */
export interface HeardTitle {
  readonly view: RecordView;
  /** Milliseconds of audio between the listener's first byte and the place where the title takes effect. */
  readonly positionMs: number;
}

/** Where the titles go: the feed's listener topics. Wired in app/app.ts. */
export interface SessionOutput {
  /** This session has become the current one of its metaid; called before any title of it. */
  onBegan(session: Session): void;
  onWritten(session: Session, title: HeardTitle): void;
  onHeard(session: Session, title: HeardTitle): void;
}

export interface SessionFacts {
  readonly metaid: string;
  readonly channel: string;
  readonly mount: string;
  /** Of its player (player-clock.ts). */
  readonly blockBytes?: number | undefined;
}

export class Session implements AlarmHandler {
  readonly id = randomUUID();
  readonly metaid: string;
  readonly channel: string;
  readonly mount: string;
  lastWritten: HeardTitle | null = null;
  lastHeard: HeardTitle | null = null;
  /** Whether it is the newest still playing of its metaid. */
  isCurrent = false;
  /** Begun and written by its listener. */
  readonly player: PlayerClock;
  /** Until when there were reports enough (heard-reports.ts). */
  reportableMs = Number.NEGATIVE_INFINITY;
  /** Audio time of its first byte on the tape; -1: it has not begun. */
  #joinMs = -1;
  /** The last that it was given. */
  #mark: Mark | null = null;
  readonly #unheard: HeardTitle[] = [];
  #alarm: Alarm | null = null;
  readonly #clock: Clock;
  readonly #output: SessionOutput;

  constructor({ metaid, channel, mount, blockBytes }: SessionFacts, clock: Clock, output: SessionOutput) {
    this.metaid = metaid;
    this.channel = channel;
    this.mount = mount;
    this.player = new PlayerClock(blockBytes);
    this.#clock = clock;
    this.#output = output;
  }

  /** The record of a title of this session, as readers of the listener scope get it. */
  json(title: HeardTitle): string {
    return title.view.listenerJson(this.id, String(Math.round(title.positionMs)), this.mount);
  }

  /** The same as a message; its id says session and position. */
  nowMessage(title: HeardTitle): Message {
    return new Message('now', `${this.id}~${Math.round(title.positionMs)}`, this.json(title));
  }

  /** A following track, which has no position. */
  nextMessage(view: RecordView): Message {
    const id = `${this.id}~${(view.record.stamp ?? 0).toString(36)}`;
    return new Message('next', id, view.listenerJson(this.id, '', this.mount));
  }

  /** The first audio byte is written. @param joinMs its audio time on the tape; @param mark in force there */
  begin(joinMs: number, mark: Mark | null, nowMs: number): void {
    this.#joinMs = joinMs;
    if (mark !== null) this.written(mark, joinMs, nowMs);
  }

  /** What this listener was sent already has another title: it gets this one at once, unless it still waits for the one before it. */
  late({ before, mark, atMs }: LateTitle, nowMs: number): void {
    const isSent = this.#joinMs >= 0 && atMs < this.#joinMs + this.player.writtenMs;
    if (isSent && this.#mark === before) this.written(mark, atMs, nowMs);
  }

  /** The block with this title is written. @param atMs audio time on the tape at which it takes effect */
  written(mark: Mark, atMs: number, nowMs: number): void {
    // A late title was given before the segment that carries it.
    if (this.#mark !== null && mark.order <= this.#mark.order) return;
    this.#mark = mark;
    const title = { view: mark.view, positionMs: Math.max(0, atMs - this.#joinMs) };
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

  /** An alarm that comes too early looks again, and +∞ needs none. */
  #wake(dueMs: number): void {
    if (dueMs === Number.POSITIVE_INFINITY || (this.#alarm !== null && this.#alarm.dueMs <= dueMs)) return;
    this.#alarm?.cancel();
    this.#alarm = this.#clock.alarm(dueMs, this);
  }
}

export class Sessions {
  readonly #live = new Map<string, Session[]>();
  /** Current sessions by channel: a `next` goes to all of them. */
  readonly #current = new Map<string, Set<Session>>();
  readonly #gone: LRUCache<string, Session>;
  readonly #clock: Clock;
  readonly #output: SessionOutput;

  /** @param keepMs how long a session can be read after its connection has ended; @param max how many such are kept */
  constructor(clock: Clock, output: SessionOutput, options: { keepMs: number; max: number }) {
    this.#clock = clock;
    this.#output = output;
    this.#gone = new LRUCache({
      max: options.max,
      ttl: Math.max(1, options.keepMs),
      // Our clock, without the cache's own debounce: tests move it.
      perf: { now: () => clock.now() },
      ttlResolution: 0,
    });
  }

  /** A connection with this metaid begins to play; it is the current session now. */
  open(facts: SessionFacts): Session {
    const session = new Session(facts, this.#clock, this.#output);
    const { metaid } = facts;
    const stack = this.#live.get(metaid);
    if (stack === undefined) this.#live.set(metaid, [session]);
    else {
      this.#setCurrent(stack.at(-1)!, false);
      stack.push(session);
    }
    this.#setCurrent(session, true);
    this.#output.onBegan(session);
    return session;
  }

  /** The connection has ended. Where an older one with the same metaid still plays, that is the current session again. */
  close(session: Session): void {
    session.end();
    const stack = this.#live.get(session.metaid);
    const index = stack?.indexOf(session) ?? -1;
    if (stack === undefined || index < 0) return;
    stack.splice(index, 1);
    const wasNewest = session.isCurrent;
    this.#setCurrent(session, false);
    const newest = stack.at(-1);
    if (newest === undefined) {
      this.#live.delete(session.metaid);
      this.#gone.set(session.metaid, session);
    } else if (wasNewest) {
      this.#setCurrent(newest, true);
      if (newest.channel !== session.channel) this.#output.onBegan(newest);
      // What was published last for this metaid is not repeated.
      if (differs(newest.lastWritten, session.lastWritten)) this.#output.onWritten(newest, newest.lastWritten);
      if (differs(newest.lastHeard, session.lastHeard)) this.#output.onHeard(newest, newest.lastHeard);
    }
  }

  /** The session of this metaid: playing, or ended less than `keepMs` ago. */
  get(metaid: string): Session | undefined {
    return this.#live.get(metaid)?.at(-1) ?? this.#gone.get(metaid);
  }

  /** The session of this metaid while it plays. */
  playing(metaid: string): Session | undefined {
    return this.#live.get(metaid)?.at(-1);
  }

  /** All sessions that play on this channel, one per metaid. */
  onChannel(channel: string): Iterable<Session> {
    return this.#current.get(channel) ?? [];
  }

  get count(): number {
    return this.#live.size;
  }

  /** Drops those that ended too long ago; the cache runs no timer of its own. */
  purge(): void {
    this.#gone.purgeStale();
  }

  #setCurrent(session: Session, isCurrent: boolean): void {
    session.isCurrent = isCurrent;
    let current = this.#current.get(session.channel);
    if (current === undefined) this.#current.set(session.channel, (current = new Set()));
    if (isCurrent) current.add(session);
    else current.delete(session);
  }
}

/** Whether `title` is another record than `last`. */
function differs(title: HeardTitle | null, last: HeardTitle | null): title is HeardTitle {
  if (title === null) return false;
  const [a, b] = [title.view.record, last?.view.record];
  return a.channel !== b?.channel || a.version !== b.version;
}
