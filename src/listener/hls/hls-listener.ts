/**
 * A private listener of HLS: what is known of a player that asks for the playlist again and again. It has no connection of its own; its place is a
 * date, the PROGRAM-DATE-TIME of what its player plays:
 *
 *   list     ├───┼───┼───┼───┼───┼───┤ end           heard: as it reports, until then end − 3 × TARGETDURATION at each request
 *                        └ zero, position 0: what is heard at the first request
 *
 * A title is written when a list that has its place is sent. Owned by HlsListeners.
 */

import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import type { Mark } from '../../audio/tape/mark.js';
import type { Clock } from '../../base/clock.js';
import type { DatedMark } from '../../hls/dated-marks.js';
import type { HlsWindow } from '../../hls/window.js';
import type { Ending } from '../cursor/ending.js';
import type { ListenerClient } from '../cursor/listener-start.js';
import { PlayerClock } from '../player/player-clock.js';
import type { Session } from '../sessions/session.js';

/** How far behind the end of the list players begin. */
const TARGETS_BEHIND = 3;
/** How long it may ask for nothing: in TARGETDURATION, and milliseconds more. */
const SILENT_TARGETS = 3;
const SILENT_MS = 5000;

export interface HlsListenerFacts {
  readonly id: number;
  /** What its playlist is asked for by; admits it. */
  readonly token: string;
  readonly audio: PlayableAudio;
  readonly client: ListenerClient;
  readonly session: Session | null;
  /** When its time limit is over, monotonic milliseconds; +∞: never. */
  readonly endMs: number;
  /** Ends it; idempotent. */
  end(ending: Ending): void;
}

export class HlsListener {
  readonly id: number;
  readonly token: string;
  readonly audio: PlayableAudio;
  readonly client: ListenerClient;
  readonly session: Session | null;
  readonly endMs: number;
  readonly startedMs: number;
  readonly icy = false;
  /** Of its playlists. */
  bytes = 0;
  /** When it asked last, and by when it has to ask again, monotonic milliseconds. */
  askedMs: number;
  dueMs = Number.POSITIVE_INFINITY;
  readonly end: HlsListenerFacts['end'];
  readonly #clock: Clock;
  readonly #titles: () => readonly DatedMark[] | null;
  readonly #player: PlayerClock;
  /** The date of position 0; null: it was sent no list yet. */
  #zeroMs: number | null = null;
  /** The end of the last list that it was sent. */
  #listedMs = 0;
  /** The tape from which its session has its titles. */
  #tape: AudioTape | undefined;

  /** @param titles of its channel; null: they are not here yet */
  constructor(facts: HlsListenerFacts, clock: Clock, titles: () => readonly DatedMark[] | null) {
    const { id, token, audio, client, session, endMs, end } = facts;
    this.id = id;
    this.token = token;
    this.audio = audio;
    this.client = client;
    this.session = session;
    this.endMs = endMs;
    this.end = end;
    this.#clock = clock;
    this.#titles = titles;
    this.#player = session?.player ?? new PlayerClock();
    this.startedMs = this.askedMs = clock.now();
  }

  get channel(): string {
    return this.audio.key;
  }

  /** Its session waits for the tape, which comes over a link. */
  get isWithoutTitles(): boolean {
    return this.session !== null && this.#tape === undefined && this.#zeroMs !== null;
  }

  /** -1: it was sent no list yet. */
  get joinMs(): number {
    return this.#zeroMs ?? -1;
  }

  get lagMs(): number {
    return 0;
  }

  /** The last title that it was sent. */
  get lastMark(): Mark | null {
    return this.#markAt(this.#listedMs);
  }

  /** It asks for a list, and has it for some time. @param targetMs TARGETDURATION */
  ask(nowMs: number, targetMs: number): void {
    this.askedMs = nowMs;
    this.dueMs = nowMs + SILENT_TARGETS * targetMs + SILENT_MS;
  }

  /** It is sent the list, which is not empty. */
  send(window: HlsWindow, bytes: number, nowMs: number): void {
    this.bytes += bytes;
    const { endMs } = window;
    const [first] = window.segmentsFrom(window.state.from);
    const heardMs = Math.max(first!.startMs, endMs - TARGETS_BEHIND * window.targetSeconds * 1000);
    if (this.#zeroMs === null) {
      this.#zeroMs = this.#listedMs = heardMs;
      this.#player.begin(nowMs);
    }
    this.#player.write(endMs - this.#zeroMs, 1, nowMs);
    this.#player.estimate(Math.max(0, heardMs - this.#zeroMs), nowMs);
    this.title(nowMs, endMs);
    this.#listedMs = endMs;
  }

  /** Gives its session the titles that are new in the list that it was sent last. @param endMs of that list */
  title(nowMs: number, endMs = this.#listedMs): void {
    const { session } = this;
    const titles = session === null ? null : this.#titles();
    if (session === null || titles === null || this.#zeroMs === null) return;
    if (this.audio.tape !== this.#tape) this.#beginTape(session, titles, nowMs);
    // Those that it was given before it knows by their order.
    for (const { mark, dateMs } of titles) if (dateMs < endMs) session.written(mark, dateMs, nowMs);
    session.release(nowMs);
  }

  /** How far what it hears is behind what comes in, milliseconds. */
  heardLagMs(nowMs: number): number {
    return Math.max(0, this.#clock.wallMs() - this.#heardAtMs(nowMs) - this.audio.delayedMs);
  }

  /** The title that its player plays; null: none is known. */
  heardMark(nowMs: number): Mark | null {
    return this.#markAt(this.#heardAtMs(nowMs));
  }

  /** Segments are of one channel. */
  move(): boolean {
    return false;
  }

  /** What was given of another tape stays; this one goes on behind the list that had it. */
  #beginTape(session: Session, titles: readonly DatedMark[], nowMs: number): void {
    const isFirst = this.#tape === undefined;
    const fromMs = isFirst ? this.#zeroMs! : this.#listedMs;
    if (!isFirst) session.move(this.channel, this.client.mount);
    this.#tape = this.audio.tape;
    const mark = titles.findLast(({ dateMs }) => dateMs <= fromMs)?.mark ?? null;
    session.begin(fromMs, mark, nowMs, fromMs - this.#zeroMs!);
  }

  #heardAtMs(nowMs: number): number {
    return (this.#zeroMs ?? 0) + this.#player.positionAt(nowMs);
  }

  #markAt(dateMs: number): Mark | null {
    return this.#titles()?.findLast((each) => each.dateMs <= dateMs)?.mark ?? null;
  }
}
