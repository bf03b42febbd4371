/**
 * Signed URLs that expire: a site with a key can admit listeners without a request to this server (src/http/stream/README.md, "Who may listen").
 *
 *   /live.mp3?expires=1790000000&sig=HEX        sig = HMAC-SHA-256(key, "/live.mp3\n1790000000")
 *
 * Expired, forged and missing signatures get the same answer in the same time.
 */

import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';

const EXPIRES = /^\d{1,12}$/;
const SIGNATURE = /^[0-9a-f]{64}$/i;
/** Compared if the URL has no signature. */
const NO_SIGNATURE = randomBytes(32);

/** @param path that of the mount, as in the URL @param expires unix seconds, in decimal digits */
function signatureOf(key: KeyObject, path: string, expires: string): Buffer {
  return createHmac('sha256', key).update(`${path}\n${expires}`).digest();
}

/** Whether one of the keys has signed this path, and the signature has not expired. All keys are tried, so that the time is equal. */
export function isSigned(keys: readonly KeyObject[], path: string, query: URLSearchParams, wallMs: number): boolean {
  const expires = query.get('expires') ?? '';
  const sig = query.get('sig') ?? '';
  const given = SIGNATURE.test(sig) ? Buffer.from(sig, 'hex') : NO_SIGNATURE;
  let matches = false;
  for (const key of keys) matches = timingSafeEqual(signatureOf(key, path, expires), given) || matches;
  return matches && EXPIRES.test(expires) && Number(expires) * 1000 > wallMs;
}
