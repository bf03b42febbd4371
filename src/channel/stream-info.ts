/**
 * A channel's facts for indexes of streams, as in stream-meta.info (version 2): headers beside those of version 1. Only facts that are configured, or
 * follow from what is. Pure.
 */

import type { ChannelConfig, Config } from '../config/schema.js';

/** @returns names and values in their order; none if the channel has no `streamInfo` */
export function streamInfoHeaders(
  key: string,
  { streamInfo, mounts, logo: own }: ChannelConfig,
  { streams, page }: Config,
): (readonly [name: string, value: string])[] {
  if (streamInfo === undefined) return [];
  const { mainStreamUrl, logo, countryCode, subdivisionCode, languageCodes, indexMetadata, doNotIndex, geoLatLong } =
    streamInfo;
  // Serialized, and therefore ASCII.
  const base = streams.publicUrl === '' ? '' : new URL(streams.publicUrl).href.replace(/\/+$/, '');
  const hasLogo = page.enabled && (own ?? page.logo) !== undefined;
  const ownLogo = hasLogo ? `${base}/web/logo${own === undefined ? '' : `/${key}`}` : '';
  const flag = (value: boolean | undefined) => (value === undefined ? '' : value ? '1' : '0');
  const all = [
    ['icy-version', '2'],
    ['icy-main-stream-url', mainStreamUrl ?? (base && base + (mounts[0] ?? `/${key}`))],
    ['icy-logo', logo ?? (base && ownLogo)],
    ['icy-country-code', countryCode ?? ''],
    // The misspelling is theirs.
    ['icy-country-subdivison-code', subdivisionCode ?? ''],
    ['icy-language-codes', languageCodes?.join(',') ?? ''],
    ['icy-geo-lat-long', geoLatLong?.join(',') ?? ''],
    ['icy-index-metadata', flag(indexMetadata)],
    ['icy-do-not-index', flag(doNotIndex)],
  ] as const;
  return all.filter(([, value]) => value !== '');
}
