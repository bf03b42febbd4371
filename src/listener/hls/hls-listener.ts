/**
 * A private listener of HLS: a player that requests the playlist again and again. It has no connection of its own; its place is a date, the
 * PROGRAM-DATE-TIME of what its player plays:
 *
 *   list     ├───┼───┼───┼───┼───┼───┤ end           heard: as reported, before that end − 3 × TARGETDURATION at each request
 *                        └ zero, position 0: what is heard at the first request
 *
 * A title is written when a list that reaches its place is sent. Owned by HlsListeners.
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
/** How long it may be silent between two requests: in TARGETDURATION, and milliseconds more. */
const SILENT_TARGETS = 3;
const SILENT_MS = 5000;

type HlsListenerFacts = Pick<HlsListener, 'id' | 'token' | 'audio' | 'client' | 'session' | 'endMs' | 'end'>;

export class HlsListener {
  readonly id: number;
  /** The secret in the URL of its playlist. */
  readonly token: string;
  readonly audio: PlayableAudio;
  readonly client: ListenerClient;
  readonly session: Session | null;
  /** When its time limit ends, monotonic milliseconds; +∞: never. */
  readonly endMs: number;
  readonly startedMs: number;
  readonly icy = false;
  /** Bytes of its playlists. */
  bytes = 0;
  /** When its last request came, monotonic milliseconds. */
  askedMs: number;
  /** When it ends without another request, monotonic milliseconds. */
  dueMs = Number.POSITIVE_INFINITY;
  /** Ends it; idempotent. */
  readonly end: (ending: Ending) => void;
  readonly #clock: Clock;
  readonly #titles: () => readonly DatedMark[] | null;
  readonly #player: PlayerClock;
  /** The date of position 0; null: no list was sent yet. */
  #zeroMs: number | null = null;
  /** The end of the last list sent. */
  #listedMs = 0;
  /** The tape whose titles its session gets. */
  #tape: AudioTape | undefined;

  /** @param titles of its channel; null: they have not arrived yet */
  constructor(
    { id, token, audio, client, session, endMs, end }: HlsListenerFacts,
    clock: Clock,
    titles: () => readonly DatedMark[] | null,
  ) {
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

  /** Its session waits for the tape, which arrives over a link. */
  get isWithoutTitles(): boolean {
    return this.session !== null && this.#tape === undefined && this.#zeroMs !== null;
  }

  /** -1: no list was sent yet. */
  get joinMs(): number {
    return this.#zeroMs ?? -1;
  }

  get lagMs(): number {
    return 0;
  }

  /** The last title sent. */
  get lastMark(): Mark | null {
    return this.#markAt(this.#listedMs);
  }

  /** It requests a list, which keeps it for some time. @param targetMs TARGETDURATION */
  ask(nowMs: number, targetMs: number): void {
    this.askedMs = nowMs;
    this.dueMs = nowMs + SILENT_TARGETS * targetMs + SILENT_MS;
  }

  /** It is sent the list, which has segments. */
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

  /** Gives its session the titles that are new in the last list sent. @param endMs the end of that list */
  title(nowMs: number, endMs = this.#listedMs): void {
    const { session } = this;
    const titles = session === null ? null : this.#titles();
    if (session === null || titles === null || this.#zeroMs === null) return;
    if (this.audio.tape !== this.#tape) this.#beginTape(session, titles, nowMs);
    // The session knows earlier ones by their order.
    for (const { mark, dateMs } of titles) if (dateMs < endMs) session.written(mark, dateMs, nowMs);
    session.release(nowMs);
  }

  /** How far it hears behind the audio that arrives, milliseconds. */
  heardLagMs(nowMs: number): number {
    return Math.max(0, this.#clock.wallMs() - this.#heardAtMs(nowMs) - this.audio.delayedMs);
  }

  /** The title that its player plays; null: unknown. */
  heardMark(nowMs: number): Mark | null {
    return this.#markAt(this.#heardAtMs(nowMs));
  }

  /** It cannot be moved: segments belong to one channel. */
  move(): boolean {
    return false;
  }

  /** Titles of another tape stay; this tape begins behind the last list sent. */
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
