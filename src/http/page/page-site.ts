/**
 * The stations and channels as the pages present them, and the look of the pages. Made by app/worker/page-facts.ts; changing values are read when a
 * getter is called.
 */

import type { Languages } from './page-texts.js';

/** A file with its headers. */
export interface ServedFile {
  readonly type: string;
  readonly body: Buffer;
  readonly etag: string;
}

/** A channel as the pages show it. */
export interface PageChannel {
  readonly stationkey: string;
  /** The heading of its group: the station's display name, or its key. */
  readonly station: string;
  readonly key: string;
  /** The display name, or the key. */
  readonly name: string;
  readonly description: string;
  /** The path of the stream, with the leading slash. */
  readonly mount: string;
  /** The path of its HLS playlist; "": none, as with Ogg. */
  readonly hls: string;
  /** The path of its rewind playlist, and how far back that goes at most; null: none. */
  readonly rewind: { readonly path: string; readonly hours: number } | null;
  readonly logo: ServedFile | null;
  /** Whether there is audio, or would be as soon as a client listens. */
  readonly onAir: boolean;
  /** The content type; "": unknown. */
  readonly type: string;
  /** Records as JSON; null: none. */
  readonly now: string | null;
  readonly next: string | null;
}

export interface PageLink {
  readonly text: string;
  readonly url: string;
}

export interface PageSite {
  readonly isEnabled: boolean;
  /** The configured name; "": see siteName. */
  readonly name: string;
  readonly text: string;
  readonly logo: ServedFile | null;
  /** #rrggbb */
  readonly accent: string;
  readonly links: readonly PageLink[];
  readonly languages: Languages;
  /** Origins that may frame the player, besides the server's own pages. */
  readonly frameAncestors: readonly string[];
  readonly channels: readonly PageChannel[];
}

/** A title for people. */
export interface PageTitle {
  readonly title: string;
  readonly artist: string;
  readonly song: string;
  /** An http or https URL, or "". */
  readonly cover: string;
}

/** A channel's logo, or the site's. */
export function logoOf(site: PageSite, channel: PageChannel): ServedFile | null {
  return channel.logo ?? site.logo;
}

/** The path of a logo, with a digest of it, so that browsers can cache it; "": none. @param channel null: the site's logo */
export function logoPath(site: PageSite, channel: PageChannel | null): string {
  const own = channel?.logo ?? null;
  const logo = own ?? site.logo;
  if (logo === null) return '';
  return `web/logo${own === null ? '' : `/${channel!.key}`}?v=${logo.etag.slice(1, 9)}`;
}

/** The title that the player shows. @param json a record; null: none */
export function titleOf(json: string | null): PageTitle | null {
  if (json === null) return null;
  const { rawdata, artist, song, cover } = JSON.parse(json) as Readonly<Record<string, string>>;
  return { title: rawdata ?? '', artist: artist ?? '', song: song ?? '', cover: cover ?? '' };
}

/** The configured name, else the only station's, else the first channel's. */
export function siteName({ name, channels }: PageSite): string {
  if (name !== '') return name;
  const stations = new Set(channels.map(({ station }) => station));
  return stations.size === 1 ? [...stations].join('') : (channels[0]?.name ?? 'airsplice');
}
