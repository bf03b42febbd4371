/**
 * The icon of the pages: the logo if it is small, otherwise a drawn one. The pages contain it as a data: URL, since their policy allows no image of
 * this host.
 */

import { fileOf } from './page-files.js';
import type { PageSite } from './page-site.js';

export const ICON = fileOf(
  'image/svg+xml; charset=utf-8',
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1f6f66"/>
<path d="M7 13v6M12 9v14M17 12v8M22 7v18M27 14v4" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/></svg>`),
);

const MAX_BYTES = 8192;

export function iconUrl({ logo }: PageSite): string {
  const { type, body } = logo !== null && logo.body.length <= MAX_BYTES ? logo : ICON;
  return `data:${type.replace(/;.*/, '')};base64,${body.toString('base64')}`;
}
