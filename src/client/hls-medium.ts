/**
 * HLS as an element plays it: by hls.js, where the page gives it and the browser can, else by the browser's own player. Titles are those of
 * the playlist, by the date of what is heard: `playingDate` of hls.js, in Safari `getStartDate() + currentTime`. Chromium's own player knows no
 * dates, and so has no titles.
 *
 * With a metaid in the URL the listener is a private one: the server gets to know which date is heard. The same URL is the same listener there,
 * so that a playlist that is read beside the player is not another one.
 */

import { addressOf, makeMetaid } from './browser.js';
import { type Attributes, type DatedTitle, datedTitles, dateRangesOf } from './date-range.js';
import { DatedTitles } from './dated-titles.js';
import type { Medium, MediumHandlers } from './medium.js';
import { PlaceReporter } from './place-reporter.js';
import type { HeardPlaces } from './play-titles.js';
import { PlaylistReader } from './playlist-reader.js';
import type {
  AttachOptions,
  AudioElement,
  HlsConstructor,
  HlsLoadPolicy,
  HlsPlayer,
  HlsRetry,
  HlsSettings,
  StartPlace,
} from './types.js';

/** A title that was pushed late, or is behind a delay line, has its place as far from the date that its record says. */
const NEAR_MS = 600_000;

/** How often what cannot be loaded is requested again, a second apart: as long as there may be audio to play. */
const MAX_RETRIES = 20;

/** hls.js gives up at the first refused connection, which it takes for one that CORS forbids; a server that restarts refuses some. */
const AGAIN: HlsRetry = {
  maxNumRetry: MAX_RETRIES,
  retryDelayMs: 500,
  maxRetryDelayMs: 1000,
  shouldRetry: (_config, retries, _isTimeout, response, isRetried) =>
    isRetried || (response?.code === 0 && retries < MAX_RETRIES),
};

/** @param maxLoadTimeMs of one request; all but `errorRetry` as hls.js has it */
function loadPolicy(maxLoadTimeMs: number, timeOuts: number): HlsLoadPolicy {
  const timeoutRetry = { maxNumRetry: timeOuts, retryDelayMs: 0, maxRetryDelayMs: 0 };
  return { default: { maxTimeToFirstByteMs: 10_000, maxLoadTimeMs, timeoutRetry, errorRetry: AGAIN } };
}

/** Two segments behind the end of the playlist, where its default is three; what was heard is not kept for hours; no text tracks. */
const SETTINGS: HlsSettings = {
  liveSyncDurationCount: 2,
  backBufferLength: 30,
  enableDateRangeMetadataCues: false,
  enableEmsgMetadataCues: false,
  enableID3MetadataCues: false,
  playlistLoadPolicy: loadPolicy(20_000, 2),
  fragLoadPolicy: loadPolicy(120_000, 4),
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
  /** Where the present or next play begins; null: where the playlist says that it is live. */
  #start: StartPlace | null;

  /** @param url of a playlist @param root of the server that takes reports */
  constructor(audio: AudioElement, url: URL, root: URL, { Hls, startAt, reports = true }: AttachOptions) {
    this.#audio = audio;
    this.#mount = this.#url = url;
    this.#root = root;
    this.#hasReports = reports;
    this.#start = startAt ?? null;
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
    let start = this.#start;
    const titles = new DatedTitles({
      date: () => (start === null && this.#audio.currentTime > 0 ? this.#reached(timeOf(hls.playingDate)) : null),
      reports: this.#reporter(),
      onNext,
      onClose: () => {
        isClosed = true;
      },
    });
    hls.on(events.LEVEL_UPDATED, (_, data) => {
      if (isClosed) return;
      const dated = datedTitles(rangesOf(data));
      titles.update(dated);
      if (start !== null) {
        const seconds = secondsOf(data, dateOf(start, dated));
        start = null;
        hls.startLoad(seconds);
      }
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
    let start = this.#start;
    const date = () => {
      const startMs = timeOf(audio.getStartDate?.());
      if (startMs === null || audio.currentTime === 0 || start !== null) return null;
      return this.#reached(startMs + audio.currentTime * 1000);
    };
    // Without a date no title has a place.
    const reader =
      audio.getStartDate === undefined
        ? null
        : new PlaylistReader(this.#url, (text) => {
            const dated = datedTitles(dateRangesOf(text));
            titles.update(dated);
            const startMs = timeOf(audio.getStartDate?.());
            if (start !== null && startMs !== null) {
              audio.currentTime = Math.max(0, (dateOf(start, dated) - startMs) / 1000);
              start = null;
            }
            onDue();
          });
    const titles = new DatedTitles({ date, onNext, reports: this.#reporter(), onClose: () => reader?.close() });
    return titles;
  }

  /** A rewind goes on there. */
  #reached(dateMs: number | null): number | null {
    if (dateMs !== null && this.#start !== null) this.#start = { dateMs };
    return dateMs;
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

/** Of the title, where the playlist has it. */
function dateOf({ dateMs, record = '' }: StartPlace, titles: readonly DatedTitle[]): number {
  const offMs = ({ startMs }: DatedTitle) => Math.abs(startMs - dateMs);
  const [nearest] = titles.filter((title) => title.record.id === record).sort((a, b) => offMs(a) - offMs(b));
  return record !== '' && nearest !== undefined && offMs(nearest) < NEAR_MS ? nearest.startMs : dateMs;
}

/** Where this date is on the element's clock, as hls.js has it. @param data of LEVEL_UPDATED */
function secondsOf(data: unknown, dateMs: number): number {
  type Fragment = { readonly start: number; readonly programDateTime: number | null };
  const { details } = (data ?? {}) as { readonly details?: { readonly fragments?: readonly Fragment[] } };
  const fragments = details?.fragments ?? [];
  const fragment = fragments.findLast(({ programDateTime }) => (programDateTime ?? Number.POSITIVE_INFINITY) <= dateMs);
  if (fragment === undefined) return fragments[0]?.start ?? -1;
  return fragment.start + (dateMs - fragment.programDateTime!) / 1000;
}

function timeOf(date: Date | null | undefined): number | null {
  const ms = date?.getTime() ?? Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}
