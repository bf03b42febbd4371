/**
 * Whether a page made a browser send a request that it should not, with the credentials that a browser keeps (admin/README.md, "Pages of others").
 * Browsers name the origin of what a page sends in `Origin` (Fetch standard, 3.2; RFC 6454, 7) and `Sec-Fetch-Site`, and its purpose in
 * `Sec-Fetch-Dest`
 * (W3C Fetch Metadata); the latter two only over TLS or on this machine. Pure functions of a request.
 */

import type { FastifyRequest } from 'fastify';
import { Refusal } from '../base/refusal.js';

type Asked = Pick<FastifyRequest, 'method' | 'headers'>;

const SAFE = ['GET', 'HEAD'];
const JSON_BODY = /^application\/(?:[\w.+-]*\+)?json\s*(?:;|$)/i;
/** What every browser calls itself. */
const BROWSER = /^mozilla\//i;
/** A script's fetch, and a link that a person follows. Anything else is embedded by a page, such as an image, whose URL a stranger may have set. */
const MEANT: readonly unknown[] = ['empty', 'document'];

/**
 * Throws a Refusal for an act from elsewhere, or one that a page can send without being asked for permission: by POST, with Basic, neither as JSON
 * nor with
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
 * Throws a Refusal for any act from elsewhere. A browser has to say that a script or a link of this origin sent it: any page can make it send a GET
 * by a link or an image, and so does an image on a page of this server.
 */
export function refuseForeign({ headers }: Pick<Asked, 'headers'>): void {
  if (isForeign(headers)) throw foreign();
  const isBrowser = BROWSER.test(headers['user-agent'] ?? '') || saysWhatFor(headers);
  const isBearer = /^bearer /i.test(headers.authorization ?? '');
  if (isBrowser && !isBearer && !isFromHere(headers)) throw foreign();
}

/**
 * The same where encoders (some call themselves Mozilla) and people who type an address act by GET: refuses only what a browser marks as sent by a
 * page.
 */
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

/** Over plain http browsers send `Referer` only; pages of this server let none be sent with images. */
function isFromHere(headers: Asked['headers']): boolean {
  const { origin, referer, host } = headers;
  if (isHost(origin, host)) return true;
  if (!saysWhatFor(headers)) return isHost(referer, host);
  return headers['sec-fetch-site'] === 'same-origin' && MEANT.includes(headers['sec-fetch-dest']);
}

/** Whether a URL has the host and port of the request. The origin `null` of sandboxed pages has not. */
function isHost(url: string | undefined, host: string | undefined): boolean {
  return url !== undefined && host !== undefined && URL.canParse(url) && new URL(url).host === host.toLowerCase();
}

function foreign(): Refusal {
  return new Refusal(
    'not-allowed',
    'A browser sent this for a page of another origin, or as an image, a frame or the like.',
  );
}
