/** Keys of accounts and certificates, and what a proof by HTTP-01 says of an account (RFC 8555, 8.1). */

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';

/** PEM, of P-256: every client has it (net/tls/tls-options.ts), and so has every authority. */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** RFC 7638. Throws where it is not a key of P-256 in PEM. */
export function thumbprintOf(pem: string): string {
  const { kty, crv, x, y } = createPublicKey(createPrivateKey(pem)).export({ format: 'jwk' });
  if (kty !== 'EC' || crv !== 'P-256') throw new Error('not a key of P-256');
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}

/** Whether it can be the key of an account. */
export function isKey(pem: string): boolean {
  try {
    thumbprintOf(pem);
    return true;
  } catch {
    return false;
  }
}
