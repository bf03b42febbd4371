/**
 * Whether a page of another origin may have sent a request, with the credentials that a browser keeps (README.md, "Pages of others"). Browsers
 * name the origin of what a page sends with `Origin` (Fetch standard, 3.2; RFC 6454, 7) and `Sec-Fetch-Site` (W3C Fetch Metadata), the latter
 * only over TLS or on this machine. Pure functions of a request.
 */

import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../base/refusal.js';

type Asked = Pick<FastifyRequest, 'method' | 'headers'>;

const SAFE = ['GET', 'HEAD'];
const JSON_BODY = /^application\/(?:[\w.+-]*\+)?json\s*(?:;|$)/i;
/** What every browser calls itself. */
const BROWSER = /^mozilla\//i;

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

/** Throws a Refusal for any act from elsewhere. A browser's has to say that it is from here: a link or an image makes it send a GET. */
export function refuseForeign({ headers }: Asked): void {
  if (isForeign(headers)) throw foreign();
  const isBrowser = BROWSER.test(headers['user-agent'] ?? '') && !/^bearer /i.test(headers.authorization ?? '');
  if (isBrowser && !isFromHere(headers)) throw foreign();
}

function isForeign(headers: Asked['headers']): boolean {
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && !isHost(origin, headers.host);
}

function isFromHere({ origin, referer, host, ...headers }: Asked['headers']): boolean {
  return headers['sec-fetch-site'] === 'same-origin' || isHost(origin ?? referer, host);
}

/** Whether a URL's host and port are those that were asked. `null`, as sandboxed pages have it, is none. */
function isHost(url: string | undefined, host: string | undefined): boolean {
  return url !== undefined && host !== undefined && URL.canParse(url) && new URL(url).host === host.toLowerCase();
}

function foreign(): Refusal {
  return new Refusal('not-allowed', 'This came from a page of another origin.');
}
