/**
 * A session: what one connection with a metaid was sent, and what its player hears. A title is *written* when its ICY block goes to the socket and
 * *heard* when a player that has played in real time since its first byte gets there (src/listener/README.md, "Written and heard"):
 *
 *   session start ────────────── position ──────────►│ heard
 *        └ first byte written    written │── not yet ─┘
 *
 * The player's clock, which follows stalls and reports, says when that is (player-clock.ts). Titles are published only while this is the current
 * session of its metaid (sessions.ts).
 */

import { randomUUID } from 'node:crypto';
import type { LateTitle } from '../../audio/playable-audio.js';
import type { Mark } from '../../audio/tape/mark.js';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import type { Message, Sync } from '../../feed/feed.js';
import type { RecordView } from '../../metadata/view.js';
import { PlayerClock } from '../player/player-clock.js';
import { nextMessageOf, nowMessageOf, type ReadableSession } from './readable-session.js';
import type { SessionTimes } from './session-location.js';

/** A title at its place in one listener's stream. */
export interface HeardTitle {
  readonly view: RecordView;
  /** Milliseconds of audio between the listener's first byte and the place where the title takes effect. */
  readonly positionMs: number;
  /** The mount that its listener played at that place. */
  readonly mount: string;
  /** Rises with every title of a session. */
  readonly order: number;
}

/** Publishes the titles in the feed's listener topics (listener-feed.ts). */
export interface SessionOutput {
  /** This session is now the current one of its metaid; called before any of its titles. */
  onBegan(session: Session): void;
  onWritten(session: Session, title: HeardTitle): void;
  onHeard(session: Session, title: HeardTitle): void;
}

export interface SessionFacts {
  readonly metaid: string;
  readonly channel: string;
  readonly mount: string;
  /** See PlayerClock. */
  readonly blockBytes?: number | undefined;
  /** Whether its positions come from dates in unix milliseconds (HLS), not from audio time on a tape. */
  readonly isDated?: boolean;
}

/** How far before the session's position 0 an HLS player may be: no playlist is longer. */
const MAX_BEFORE_MS = 1_200_000;

export class Session implements AlarmHandler, ReadableSession, SessionTimes {
  readonly id = randomUUID();
  readonly metaid: string;
  readonly sinceMs: number;
  endedMs = Number.POSITIVE_INFINITY;
  lastWritten: HeardTitle | null = null;
  lastHeard: HeardTitle | null = null;
  /** Whether it is the newest session of its metaid that still plays. */
  isCurrent = false;
  /** Kept up to date by its listener. */
  readonly player: PlayerClock;
  /** See ReportBudget. */
  reportableMs = Number.NEGATIVE_INFINITY;
  channel: string;
  mount: string;
  /** Audio time of its position 0 on the present tape; null: no audio of that tape was written yet. */
  #zeroMs: number | null = null;
  /** The last mark of that tape whose title was written. */
  #mark: Mark | null = null;
  readonly #isDated: boolean;
  readonly #unheard: HeardTitle[] = [];
  #alarm: Alarm | null = null;
  readonly #clock: Clock;
  readonly #output: SessionOutput;

  /** @param sinceMs when it was opened, by a clock that all processes share */
  constructor(
    { metaid, channel, mount, blockBytes, isDated = false }: SessionFacts,
    sinceMs: number,
    clock: Clock,
    output: SessionOutput,
  ) {
    this.metaid = metaid;
    this.sinceMs = sinceMs;
    this.channel = channel;
    this.mount = mount;
    this.player = new PlayerClock(blockBytes);
    this.#isDated = isDated;
    this.#clock = clock;
    this.#output = output;
  }

  /** A title's record as readers of the listener scope get it. */
  json(title: HeardTitle): string {
    return title.view.listenerJson(this.id, String(Math.round(title.positionMs)), title.mount);
  }

  /** The same as a message. */
  nowMessage(title: HeardTitle): Message {
    return nowMessageOf(this.id, title.order, this.json(title));
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

  /** All titles that readers need: the last one heard, those written and not heard, the last one written. */
  get titles(): readonly HeardTitle[] {
    return [...new Set([this.lastHeard, ...this.#unheard, this.lastWritten])].filter((title) => title !== null);
  }

  /** Its connection continues at another mount, or with another tape; what it was sent before is heard first. */
  move(channel: string, mount: string): void {
    this.channel = channel;
    this.mount = mount;
    this.#zeroMs = null;
    this.#mark = null;
  }

  /**
   * The first audio byte of a tape is written.
   * @param joinMs its audio time on the tape @param mark in force there @param baseMs its position, if the session has played other tapes
   */
  begin(joinMs: number, mark: Mark | null, nowMs: number, baseMs = 0): void {
    this.#zeroMs = joinMs - baseMs;
    if (mark === null) return;
    if (baseMs > 0 && this.#isLast(mark)) this.#mark = mark;
    else this.written(mark, joinMs, nowMs);
  }

  /** Whether it is the last title written, carried over from another tape. */
  #isLast({ view: { record } }: Mark): boolean {
    const last = this.lastWritten?.view.record;
    return last?.version === record.version && last.channel === record.channel;
  }

  /** A title came for audio that was written already: this listener gets it at once, unless it still waits for the title before it. */
  late({ before, mark, atMs }: LateTitle, nowMs: number): void {
    // An HLS listener gets it with the next playlist.
    if (this.#isDated) return;
    const isSent = this.#zeroMs !== null && atMs < this.#zeroMs + this.player.writtenMs;
    if (isSent && this.#mark === before) this.written(mark, atMs, nowMs);
  }

  /** The block with this title is written. @param atMs audio time on the tape at which it takes effect */
  written(mark: Mark, atMs: number, nowMs: number): void {
    // A late title may have been given before its segment was written.
    if (this.#mark !== null && mark.order <= this.#mark.order) return;
    this.#mark = mark;
    const positionMs = Math.max(0, atMs - (this.#zeroMs ?? atMs));
    const title = { view: mark.view, positionMs, mount: this.mount, order: (this.lastWritten?.order ?? -1) + 1 };
    this.lastWritten = title;
    if (this.isCurrent) this.#output.onWritten(this, title);
    this.#unheard.push(title);
    this.release(nowMs);
  }

  /** Its player reports its position. False: impossible. */
  report(heardMs: number, nowMs: number): boolean {
    if (!this.player.report(heardMs, nowMs)) return false;
    this.release(nowMs);
    return true;
  }

  /** The same from an HLS player: the date of what it plays, unix milliseconds. A date before position 0 counts as position 0. */
  reportDate(heardAtMs: number, nowMs: number): boolean {
    if (!this.#isDated || this.#zeroMs === null) return false;
    const heardMs = heardAtMs - this.#zeroMs;
    return heardMs >= -MAX_BEFORE_MS && this.report(Math.max(0, heardMs), nowMs);
  }

  onAlarm(nowMs: number): void {
    this.#alarm = null;
    this.release(nowMs);
  }

  /** Publishes the titles heard by now. Call it whenever the player's clock has changed. */
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

  /** Sets the alarm; one that is too early sets the next. +∞ needs none. */
  #wake(dueMs: number): void {
    if (dueMs === Number.POSITIVE_INFINITY || (this.#alarm !== null && this.#alarm.dueMs <= dueMs)) return;
    this.#alarm?.cancel();
    this.#alarm = this.#clock.alarm(dueMs, this);
  }
}
