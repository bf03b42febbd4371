/** The host of the page on which a listener plays. Pure. */

import { UNKNOWN, VALUE_CHARACTERS } from './figures.js';

const URL_HOST = /^https?:\/\/([a-z0-9.-]{1,253})(?::\d{1,5})?(?:[/?#]|$)/i;

/** @param referer the header, or Origin; "": none */
export function pageHost(referer: string): string {
  const host = URL_HOST.exec(referer)?.[1];
  if (host === undefined) return UNKNOWN;
  return (
    host
      .toLowerCase()
      .replace(/\.$/, '')
      .replace(/^www\./, '')
      .slice(0, VALUE_CHARACTERS) || UNKNOWN
  );
}
