/**
 * Whether a page made a browser send a request that it should not, with the credentials that a browser keeps (admin/README.md, "Pages of others"). Browsers
 * name the origin of what a page sends with `Origin` (Fetch standard, 3.2; RFC 6454, 7) and `Sec-Fetch-Site`, and what for with `Sec-Fetch-Dest`
 * (W3C Fetch Metadata), the latter two only over TLS or on this machine. Pure functions of a request.
 */

import type { FastifyRequest } from 'fastify';
import { Refusal } from '../base/refusal.js';

type Asked = Pick<FastifyRequest, 'method' | 'headers'>;

const SAFE = ['GET', 'HEAD'];
const JSON_BODY = /^application\/(?:[\w.+-]*\+)?json\s*(?:;|$)/i;
/** What every browser calls itself. */
const BROWSER = /^mozilla\//i;
/** A script's fetch, and a link that a person follows. All else is what a page shows: an image's URL may be a stranger's. */
const MEANT: readonly unknown[] = ['empty', 'document'];

/**
 * Throws a Refusal for an act from elsewhere, or one that a page can send without being asked for permission: by POST, with Basic, neither as JSON nor with
 * `X-Requested-With`. Reads may come from anywhere: no other origin can see the answer.
 */
export function refuseSimple(request: Asked): void {
  const { method, headers } = request;
  if (SAFE.includes(method)) return;
  if (isForeign(headers)) throw foreign();
  const isBearer = /^bearer /i.test(headers.authorization ?? '');
  const isSimple = method === 'POST' && !JSON_BODY.test(headers['content-type'] ?? '');
  if (isSimple && !isBearer && headers['x-requested-with'] === undefined) {
    throw new Refusal('not-allowed', 'With a password this needs a JSON body or the header X-Requested-With.');
  }
}

/**
 * Throws a Refusal for any act from elsewhere. A browser's has to say that a script or a link of this origin sent it: a link or an image of any page makes it
 * send a GET, and so does an image that our own page shows.
 */
export function refuseForeign({ headers }: Pick<Asked, 'headers'>): void {
  if (isForeign(headers)) throw foreign();
  const isBrowser = BROWSER.test(headers['user-agent'] ?? '') || saysWhatFor(headers);
  const isBearer = /^bearer /i.test(headers.authorization ?? '');
  if (isBrowser && !isBearer && !isFromHere(headers)) throw foreign();
}

/** The same where encoders act by GET, which may call themselves Mozilla, and people who type an address: refused is only what a browser says that a page sent. */
export function refuseFromPage({ headers }: Pick<Asked, 'headers'>): void {
  if (isForeign(headers)) throw foreign();
  if (saysWhatFor(headers) && headers['sec-fetch-site'] !== 'none' && !isFromHere(headers)) throw foreign();
}

function isForeign(headers: Asked['headers']): boolean {
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && !isHost(origin, headers.host);
}

function saysWhatFor(headers: Asked['headers']): boolean {
  return headers['sec-fetch-site'] !== undefined || headers['sec-fetch-dest'] !== undefined;
}

/** In the clear browsers say only from which page: ours have no `Referer` sent with images. */
function isFromHere(headers: Asked['headers']): boolean {
  const { origin, referer, host } = headers;
  if (isHost(origin, host)) return true;
  if (!saysWhatFor(headers)) return isHost(referer, host);
  return headers['sec-fetch-site'] === 'same-origin' && MEANT.includes(headers['sec-fetch-dest']);
}

/** Whether a URL's host and port are those that were asked. `null`, as sandboxed pages have it, is none. */
function isHost(url: string | undefined, host: string | undefined): boolean {
  return url !== undefined && host !== undefined && URL.canParse(url) && new URL(url).host === host.toLowerCase();
}

function foreign(): Refusal {
  return new Refusal(
    'not-allowed',
    'A page of another origin made a browser send this, or any page as an image or the like.',
  );
}
