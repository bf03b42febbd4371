/**
 * HLS as an element plays it: by hls.js, where the page gives it and the browser can, else by the browser's own player. Titles are those of
 * the playlist, by the date of what is heard: `playingDate` of hls.js, in Safari `getStartDate() + currentTime`. Chromium's own player knows no
 * dates, and so has no titles.
 *
 * With a metaid in the URL the listener is a private one: the server gets to know which date is heard. The same URL is the same listener there,
 * so that a playlist that is read beside the player is not another one.
 */

import { addressOf, makeMetaid } from './browser.js';
import { type Attributes, datedTitles, dateRangesOf } from './date-range.js';
import { DatedTitles } from './dated-titles.js';
import type { Medium, MediumHandlers } from './medium.js';
import { PlaceReporter } from './place-reporter.js';
import type { HeardPlaces } from './play-titles.js';
import { PlaylistReader } from './playlist-reader.js';
import type { AttachOptions, AudioElement, HlsConstructor, HlsPlayer, HlsSettings } from './types.js';

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
  /** As the page gave it. */
  readonly #mount: URL;
  readonly #root: URL;
  readonly #hasReports: boolean;
  /** Of the present play. */
  #url: URL;
  /** Null: the browser plays. */
  readonly #Hls: HlsConstructor | null;
  #hls: HlsPlayer | null = null;

  /** @param url of a playlist @param root of the server that takes reports */
  constructor(audio: AudioElement, url: URL, root: URL, { Hls, reports = true }: AttachOptions) {
    this.#audio = audio;
    this.#mount = this.#url = url;
    this.#root = root;
    this.#hasReports = reports;
    this.#Hls = Hls?.isSupported() ? Hls : null;
  }

  arm(): void {
    this.#hls?.destroy();
    if (this.#Hls === null) {
      this.#url = namedUrl(this.#mount);
      this.#audio.src = this.#url.href;
    } else {
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
      reports: this.#reporter(),
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
    const titles = new DatedTitles({ date, onNext, reports: this.#reporter(), onClose: () => reader?.close() });
    return titles;
  }

  /** Null: nobody knows this listener by a name. */
  #reporter(): PlaceReporter | null {
    const metaid = this.#url.searchParams.get('metaid');
    if (metaid === null || !this.#hasReports) return null;
    return new PlaceReporter(null, addressOf(this.#root, `metadata/listener/${encodeURIComponent(metaid)}/heard`));
  }
}

/** What has a query may be private, such as a signed URL: the player and who reads beside it need a name, by which they are one listener. */
function namedUrl(mount: URL): URL {
  if (mount.search === '' || mount.searchParams.has('metaid')) return mount;
  const url = new URL(mount);
  url.searchParams.set('metaid', makeMetaid());
  return url;
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
