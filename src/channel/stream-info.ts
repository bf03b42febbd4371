/**
 * What indexes of streams know of a channel, as stream-meta.info has it (version 2): headers beside those of version 1. Nothing is said
 * that is not configured, or known from what is. Pure.
 */

import type { ChannelConfig, Config } from '../config/schema.js';

/** @returns names and values in their order; none where the channel has no `streamInfo` */
export function streamInfoHeaders(
  key: string,
  { streamInfo, mounts, logo: own }: ChannelConfig,
  { streams, page }: Config,
): (readonly [name: string, value: string])[] {
  if (streamInfo === undefined) return [];
  const { mainStreamUrl, logo, countryCode, subdivisionCode, languageCodes, indexMetadata, doNotIndex, geoLatLong } =
    streamInfo;
  // Serialized, so in ASCII.
  const base = streams.publicUrl === '' ? '' : new URL(streams.publicUrl).href.replace(/\/+$/, '');
  const hasLogo = page.enabled && (own ?? page.logo) !== undefined;
  const ownLogo = hasLogo ? `${base}/web/logo${own === undefined ? '' : `/${key}`}` : '';
  const flag = (value: boolean | undefined) => (value === undefined ? '' : value ? '1' : '0');
  const all = [
    ['icy-version', '2'],
    ['icy-main-stream-url', mainStreamUrl ?? (base && base + (mounts[0] ?? `/${key}`))],
    ['icy-logo', logo ?? (base && ownLogo)],
    ['icy-country-code', countryCode ?? ''],
    // Spelt so there.
    ['icy-country-subdivison-code', subdivisionCode ?? ''],
    ['icy-language-codes', languageCodes?.join(',') ?? ''],
    ['icy-geo-lat-long', geoLatLong?.join(',') ?? ''],
    ['icy-index-metadata', flag(indexMetadata)],
    ['icy-do-not-index', flag(doNotIndex)],
  ] as const;
  return all.filter(([, value]) => value !== '');
}
