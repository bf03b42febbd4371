/**
 * HLS as an element plays it: by hls.js if the page provides it and the browser supports it, else by the browser's own player. Titles are those of
 * the playlist, by the date that is heard: `playingDate` of hls.js, in Safari `getStartDate() + currentTime`. Chromium's own player knows no
 * dates, and so has no titles.
 *
 * With a metaid in the URL the listener is a private one: the date heard is reported to the server. Requests with the same metaid are one listener
 * there, so that the playlist reader is not counted beside the player.
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

/** How far a title may be from the date of its record: it was pushed late, or has passed a delay line. */
const NEAR_MS = 600_000;

/** How often a failed request is repeated, a second apart: as long as there may be audio to play. */
const MAX_RETRIES = 20;

/** hls.js gives up at the first refused connection, as it may be one that CORS forbids; but a server that restarts refuses some. */
const AGAIN: HlsRetry = {
  maxNumRetry: MAX_RETRIES,
  retryDelayMs: 500,
  maxRetryDelayMs: 1000,
  shouldRetry: (_config, retries, _isTimeout, response, isRetried) =>
    isRetried || (response?.code === 0 && retries < MAX_RETRIES),
};

/** The default of hls.js, except for `errorRetry`. @param maxLoadTimeMs of one request @param timeOuts how often a time-out is retried */
function loadPolicy(maxLoadTimeMs: number, timeOuts: number): HlsLoadPolicy {
  const timeoutRetry = { maxNumRetry: timeOuts, retryDelayMs: 0, maxRetryDelayMs: 0 };
  return { default: { maxTimeToFirstByteMs: 10_000, maxLoadTimeMs, timeoutRetry, errorRetry: AGAIN } };
}

/** Two segments behind the end of the playlist (hls.js: three); 30 s of played audio are kept (hls.js: all); no text tracks. */
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
  /** The URL as the page gave it. */
  readonly #mount: URL;
  readonly #root: URL;
  readonly #hasReports: boolean;
  /** The URL of the present play. */
  #url: URL;
  /** Null: the browser plays. */
  readonly #Hls: HlsConstructor | null;
  #hls: HlsPlayer | null = null;
  /** Where the present or next play begins; null: at the live edge. */
  #start: StartPlace | null;

  /** @param url of the playlist @param root of the server that takes reports */
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

  /** Notes where the next play of a rewind continues. */
  #reached(dateMs: number | null): number | null {
    if (dateMs !== null && this.#start !== null) this.#start = { dateMs };
    return dateMs;
  }

  /** Null: the listener has no metaid, or reports are off. */
  #reporter(): PlaceReporter | null {
    const metaid = this.#url.searchParams.get('metaid');
    if (metaid === null || !this.#hasReports) return null;
    return new PlaceReporter(null, addressOf(this.#root, `metadata/listener/${encodeURIComponent(metaid)}/heard`));
  }
}

/** Adds a metaid to a URL with a query, which may be private (such as a signed one), so that player and playlist reader are one listener. */
function namedUrl(mount: URL): URL {
  if (mount.search === '' || mount.searchParams.has('metaid')) return mount;
  const url = new URL(mount);
  url.searchParams.set('metaid', makeMetaid());
  return url;
}

/** The attributes of the date ranges that hls.js has read. @param data of LEVEL_UPDATED */
function rangesOf(data: unknown): Attributes[] {
  const { details } = (data ?? {}) as {
    readonly details?: { readonly dateRanges?: Readonly<Record<string, unknown>> };
  };
  return Object.values(details?.dateRanges ?? {}).map((range) => (range as { readonly attr?: Attributes })?.attr ?? {});
}

/** The date of the wanted title, if the playlist has it near the wanted date; else that date. */
function dateOf({ dateMs, record = '' }: StartPlace, titles: readonly DatedTitle[]): number {
  const offMs = ({ startMs }: DatedTitle) => Math.abs(startMs - dateMs);
  const [nearest] = titles.filter((title) => title.record.id === record).sort((a, b) => offMs(a) - offMs(b));
  return record !== '' && nearest !== undefined && offMs(nearest) < NEAR_MS ? nearest.startMs : dateMs;
}

/** The date on the element's clock, by hls.js. @param data of LEVEL_UPDATED */
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
