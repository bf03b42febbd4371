/**
 * The titles of one play, from the moment the element is asked to play until its stream ends: each is held until the element's clock has
 * reached its place.
 *
 *   /metadata/listener/{metaid}?sync=wire ─ title, position ─► queue ─ currentTime reaches position ─► onHeard
 *
 * Owned by the attachment, which calls `look` whenever the clock may have moved.
 */

import { addressOf, HAVE_FUTURE_DATA } from './browser.js';
import { readRecord } from './channel-record.js';
import { Follower } from './follower.js';
import { PlaceReporter } from './place-reporter.js';
import { TitleQueue } from './title-queue.js';
import type { AudioElement, ChannelRecord, ServerOptions } from './types.js';

export interface PlayTitlesOptions extends ServerOptions {
  readonly root: URL;
  readonly metaid: string;
  readonly reports: boolean;
  /** It is time to look. */
  readonly onDue: () => void;
  readonly onHeard: (record: ChannelRecord) => void;
  readonly onNext: ((record: ChannelRecord | null) => void) | undefined;
}

/** How exactly a title is reported: timers come no finer. */
const EXACT_MS = 4;
/** Until the clock begins to move. */
const BEGIN_MS = 15;

export class PlayTitles {
  readonly #audio: AudioElement;
  readonly #options: PlayTitlesOptions;
  readonly #feed: Follower;
  readonly #reports: PlaceReporter | null;
  readonly #queue = new TitleQueue();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(audio: AudioElement, options: PlayTitlesOptions) {
    const { root, metaid, reports, server, transport, WebSocket } = options;
    this.#audio = audio;
    this.#options = options;
    this.#feed = new Follower(root, `listener/${metaid}`, 'wire', {
      server,
      transport,
      WebSocket,
      onNow: (record, isNews) => this.#onWritten(record, isNews),
      onNext: (record) => options.onNext?.(record),
    });
    this.#reports = reports
      ? new PlaceReporter(this.#feed, addressOf(root, `metadata/listener/${metaid}/heard`))
      : null;
  }

  /** Reports what is heard by now, and asks to be called again when the next title is due. */
  look(): void {
    clearTimeout(this.#timer);
    if (this.#audio.paused) return;
    if (this.#mediaMs === 0) {
      if (this.#audio.readyState >= HAVE_FUTURE_DATA) this.#comeAgain(BEGIN_MS);
      return;
    }
    for (const record of this.#queue.take(this.#mediaMs + EXACT_MS)) {
      this.#options.onHeard(record);
      // The handler may have ended the play.
      if (this.#isClosed) return;
    }
    const { nextMs } = this.#queue;
    if (nextMs !== null) this.#comeAgain((nextMs - this.#mediaMs) / (this.#audio.playbackRate || 1));
  }

  /** Lets the server know where the player is, where that is new to it. @param nowMs monotonic */
  report(nowMs: number): void {
    const { session, anchorMs } = this.#queue;
    if (this.#mediaMs > 0) this.#reports?.update(this.#mediaMs - anchorMs, session, nowMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#feed.close();
  }

  get #mediaMs(): number {
    return this.#audio.currentTime * 1000;
  }

  #comeAgain(ms: number): void {
    this.#timer = setTimeout(() => this.#options.onDue(), Math.max(EXACT_MS, ms));
  }

  /** A title was written to this listener's connection. */
  #onWritten(record: ChannelRecord, isNews: boolean): void {
    this.#queue.add(record, this.#receivedMs());
    // Of what was written before the feed was open only the last comes; another title may be heard until then.
    if (!isNews && (record.positionMs ?? 0) > 0) void this.#askForHeard();
    this.#options.onDue();
  }

  /** Media time up to which there is audio; 0 before the first is heard. */
  #receivedMs(): number {
    const { buffered } = this.#audio;
    const mediaMs = this.#mediaMs;
    if (mediaMs === 0 || buffered.length === 0) return mediaMs;
    return Math.max(mediaMs, buffered.end(buffered.length - 1) * 1000);
  }

  async #askForHeard(): Promise<void> {
    const { root, metaid, onDue } = this.#options;
    try {
      const answer = await fetch(addressOf(root, `metadata/listener/${metaid}.json`));
      const record = answer.status === 200 ? readRecord(await answer.text()) : null;
      if (record !== null) this.#queue.addEarlier(record);
    } catch {
      // Then it begins with the title that came.
    }
    if (!this.#isClosed) onDue();
  }
}
