/** Keys of accounts and certificates, and the thumbprint of an account's key (RFC 8555, 8.1). */

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';

/** A new key of P-256, PEM: every client (net/tls/tls-options.ts) and every authority supports this curve. */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** The thumbprint by RFC 7638, base64url. Throws if this is not a key of P-256 in PEM. */
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
