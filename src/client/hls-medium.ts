/**
 * HLS as an element plays it: by hls.js, where the page gives it and the browser can, else by the browser's own player. Titles are those of
 * the playlist, by the date of what is heard: `playingDate` of hls.js, in Safari `getStartDate() + currentTime`. Chromium's own player knows no
 * dates, and so has no titles.
 */

import { type Attributes, datedTitles, dateRangesOf } from './date-range.js';
import { DatedTitles } from './dated-titles.js';
import type { Medium, MediumHandlers } from './medium.js';
import type { HeardPlaces } from './play-titles.js';
import { PlaylistReader } from './playlist-reader.js';
import type { AudioElement, HlsConstructor, HlsPlayer, HlsSettings } from './types.js';

/** Two segments behind the end of the playlist, where its default is three; what was heard is not kept for hours; no text tracks. */
const SETTINGS: HlsSettings = {
  liveSyncDurationCount: 2,
  backBufferLength: 30,
  enableDateRangeMetadataCues: false,
  enableEmsgMetadataCues: false,
  enableID3MetadataCues: false,
};

export class HlsMedium implements Medium {
  readonly #audio: AudioElement;
  readonly #url: URL;
  /** Null: the browser plays. */
  readonly #Hls: HlsConstructor | null;
  #hls: HlsPlayer | null = null;

  /** @param url of a playlist */
  constructor(audio: AudioElement, url: URL, Hls: HlsConstructor | undefined) {
    this.#audio = audio;
    this.#url = url;
    this.#Hls = Hls?.isSupported() ? Hls : null;
  }

  arm(): void {
    this.#hls?.destroy();
    if (this.#Hls === null) this.#audio.src = this.#url.href;
    else {
      this.#hls = new this.#Hls(SETTINGS);
      this.#hls.attachMedia(this.#audio as never);
    }
  }

  begin(handlers: MediumHandlers): HeardPlaces {
    return this.#Hls === null || this.#hls === null
      ? this.#beginOwn(handlers)
      : this.#beginHls(this.#hls, this.#Hls.Events, handlers);
  }

  close(): void {
    if (this.#Hls === null) this.arm();
    this.#hls?.destroy();
    this.#hls = null;
  }

  #beginHls(
    hls: HlsPlayer,
    events: HlsConstructor['Events'],
    { onDue, onNext, onBroken }: MediumHandlers,
  ): HeardPlaces {
    let isClosed = false;
    const titles = new DatedTitles({
      date: () => (this.#audio.currentTime > 0 ? timeOf(hls.playingDate) : null),
      onNext,
      onClose: () => {
        isClosed = true;
      },
    });
    hls.on(events.LEVEL_UPDATED, (_, data) => {
      if (isClosed) return;
      titles.update(datedTitles(rangesOf(data)));
      onDue();
    });
    hls.on(events.ERROR, (_, data) => {
      if (!isClosed && (data as { readonly fatal?: unknown } | undefined)?.fatal === true) onBroken();
    });
    hls.loadSource(this.#url.href);
    return titles;
  }

  #beginOwn({ onDue, onNext }: MediumHandlers): HeardPlaces {
    const audio = this.#audio;
    const date = () => {
      const startMs = timeOf(audio.getStartDate?.());
      return startMs === null || audio.currentTime === 0 ? null : startMs + audio.currentTime * 1000;
    };
    // Without a date no title has a place.
    const reader =
      audio.getStartDate === undefined
        ? null
        : new PlaylistReader(this.#url, (text) => {
            titles.update(datedTitles(dateRangesOf(text)));
            onDue();
          });
    const titles = new DatedTitles({ date, onNext, onClose: () => reader?.close() });
    return titles;
  }
}

/** What hls.js has read of a playlist. */
function rangesOf(data: unknown): Attributes[] {
  const { details } = (data ?? {}) as {
    readonly details?: { readonly dateRanges?: Readonly<Record<string, unknown>> };
  };
  return Object.values(details?.dateRanges ?? {}).map((range) => (range as { readonly attr?: Attributes })?.attr ?? {});
}

function timeOf(date: Date | null | undefined): number | null {
  const ms = date?.getTime() ?? Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}
