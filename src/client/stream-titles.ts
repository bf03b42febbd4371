/**
 * The titles of a stream, by the feed of its metaid, at their places on the element's clock.
 *
 *   /metadata/listener/{metaid}?sync=wire ─ title, position ─► queue ─ currentTime reaches position ─► take
 */

import { addressOf } from './browser.js';
import { readRecord } from './channel-record.js';
import { Follower } from './follower.js';
import { PlaceReporter } from './place-reporter.js';
import type { HeardPlaces } from './play-titles.js';
import { TitleQueue } from './title-queue.js';
import type { AttachOptions, AudioElement, ChannelRecord, ServerOptions } from './types.js';

export interface StreamTitlesOptions extends ServerOptions, Pick<AttachOptions, 'onNext'> {
  readonly root: URL;
  readonly metaid: string;
  readonly reports: boolean;
  /** Called when it is time to look. */
  readonly onDue: () => void;
}

export class StreamTitles implements HeardPlaces {
  readonly #audio: AudioElement;
  readonly #options: StreamTitlesOptions;
  readonly #feed: Follower;
  readonly #reports: PlaceReporter | null;
  readonly #queue = new TitleQueue();
  #isClosed = false;

  constructor(audio: AudioElement, options: StreamTitlesOptions) {
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

  get atMs(): number | null {
    return this.#mediaMs === 0 ? null : this.#mediaMs;
  }

  take(atMs: number): ChannelRecord[] {
    return this.#queue.take(atMs);
  }

  ahead(): number | null {
    return this.#queue.nextMs;
  }

  report(nowMs: number): void {
    const { session, anchorMs } = this.#queue;
    if (this.#mediaMs === 0) return;
    const heardMs = this.#mediaMs - anchorMs;
    // Its session is not known at first.
    this.#reports?.update(heardMs, { heardMs: Math.round(heardMs), ...(session === '' ? {} : { session }) }, nowMs);
  }

  close(): void {
    this.#isClosed = true;
    this.#feed.close();
  }

  get #mediaMs(): number {
    return this.#audio.currentTime * 1000;
  }

  /** A title was written to this listener's connection. */
  #onWritten(record: ChannelRecord, isNews: boolean): void {
    this.#queue.add(record, this.#receivedMs());
    // Of the titles written before the feed opened only the last arrives, and an earlier one may still be heard.
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
      // The play begins with the title that has come.
    }
    if (!this.#isClosed) onDue();
  }
}
