/**
 * Protection against cross-site request forgery: refuses requests that a page of another origin made a browser send with stored credentials
 * (admin/README.md, "Pages of others"). Browsers name the page's origin in `Origin` (Fetch standard, 3.2; RFC 6454, 7) and `Sec-Fetch-Site`, and the
 * purpose in `Sec-Fetch-Dest` (W3C Fetch Metadata); the latter two only over TLS or on localhost. Pure functions of a request.
 */

import type { FastifyRequest } from 'fastify';
import { Refusal } from '../base/refusal.js';

type Asked = Pick<FastifyRequest, 'method' | 'headers'>;

const SAFE = ['GET', 'HEAD'];
const JSON_BODY = /^application\/(?:[\w.+-]*\+)?json\s*(?:;|$)/i;
/** The User-Agent of every browser begins with this. */
const BROWSER = /^mozilla\//i;
/** A script's fetch, or a link that a person follows. All others, such as images, are embedded in a page, and anybody may have set their URL. */
const DELIBERATE: readonly unknown[] = ['empty', 'document'];

/**
 * Throws a Refusal for a write from another origin, and for one that any page can send without a preflight: a POST with Basic, neither as JSON nor
 * with `X-Requested-With`. Reads may come from anywhere: no other origin can see the answer.
 */
export function refuseSimple(request: Asked): void {
  const { method, headers } = request;
  if (SAFE.includes(method)) return;
  if (isCrossOrigin(headers)) throw crossOrigin();
  const isBearer = /^bearer /i.test(headers.authorization ?? '');
  const isSimple = method === 'POST' && !JSON_BODY.test(headers['content-type'] ?? '');
  if (isSimple && !isBearer && headers['x-requested-with'] === undefined) {
    throw new Refusal('not-allowed', 'With a password this requires a JSON body or the header X-Requested-With.');
  }
}

/**
 * Throws a Refusal for any request from another origin. A browser must state that a script or a link of this origin sent it: any page can cause a
 * GET by a link or an image, and so can an image on a page of this server.
 */
export function refuseForeign({ headers }: Pick<Asked, 'headers'>): void {
  if (isCrossOrigin(headers)) throw crossOrigin();
  const isBrowser = BROWSER.test(headers['user-agent'] ?? '') || hasFetchMetadata(headers);
  const isBearer = /^bearer /i.test(headers.authorization ?? '');
  if (isBrowser && !isBearer && !isSameOrigin(headers)) throw crossOrigin();
}

/**
 * For paths that encoders (some call themselves Mozilla) and people who type an address use with GET: throws a Refusal only for a request that a
 * browser marks as sent by a page.
 */
export function refuseFromPage({ headers }: Pick<Asked, 'headers'>): void {
  if (isCrossOrigin(headers)) throw crossOrigin();
  if (hasFetchMetadata(headers) && headers['sec-fetch-site'] !== 'none' && !isSameOrigin(headers)) throw crossOrigin();
}

function isCrossOrigin(headers: Asked['headers']): boolean {
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && !isHost(origin, headers.host);
}

function hasFetchMetadata(headers: Asked['headers']): boolean {
  return headers['sec-fetch-site'] !== undefined || headers['sec-fetch-dest'] !== undefined;
}

/** Over plain http browsers send only `Referer`; pages of this server suppress it for images. */
function isSameOrigin(headers: Asked['headers']): boolean {
  const { origin, referer, host } = headers;
  if (isHost(origin, host)) return true;
  if (!hasFetchMetadata(headers)) return isHost(referer, host);
  return headers['sec-fetch-site'] === 'same-origin' && DELIBERATE.includes(headers['sec-fetch-dest']);
}

/** Whether a URL has the host and port of the request. A proxy may name its default port too. False for the origin `null` of sandboxed pages. */
function isHost(url: string | undefined, host: string | undefined): boolean {
  if (url === undefined || host === undefined || !URL.canParse(url)) return false;
  const { protocol, host: named } = new URL(url);
  const port = { 'http:': ':80', 'https:': ':443' }[protocol] ?? '';
  return [named, named + port].includes(host.toLowerCase());
}

function crossOrigin(): Refusal {
  return new Refusal(
    'not-allowed',
    'A browser sent this request for a page of another origin, or for an image, a frame or the like.',
  );
}
