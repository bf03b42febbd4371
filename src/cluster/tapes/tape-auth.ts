/**
 * How two machines of a cluster prove to each other that they have its secret. The secret never crosses the wire, so an address that someone else
 * wrote to Redis learns nothing. The machine that is asked proves it first. Host and path of the request are part of both proofs, so that they cannot
 * be relayed to another machine.
 *
 *   client ── GET /-/tape/live?…, Authorization: Airsplice nonce=C ──────────► 401, WWW-Authenticate: Airsplice nonce=S, proof=HMAC(server, C, S, …)
 *          ── the same with Upgrade, Authorization: Airsplice nonce=C, proof=HMAC(client, C, S, …) ──► 101
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Of 128 bits. */
const NONCE = /^[A-Za-z0-9_-]{22}$/;
/** Keeps proofs apart from other uses of the secret, and from other versions of this protocol. */
const LABEL = 'airsplice tape 1';

/** Who proves it; both nonces; path and host as they are in the request. */
export interface Proof {
  readonly by: 'client' | 'server';
  readonly client: string;
  readonly server: string;
  readonly path: string;
  readonly host: string;
}

export function newNonce(): string {
  return randomBytes(16).toString('base64url');
}

export function proofOf(secret: Buffer, { by, client, server, path, host }: Proof): string {
  const text = [LABEL, by, client, server, host, path].join('\n');
  return createHmac('sha256', secret).update(text).digest('base64url');
}

/** In constant time. */
export function isProof(secret: Buffer, proof: Proof, given: string): boolean {
  const [own, other] = [proofOf(secret, proof), given].map((text) => Buffer.from(text, 'latin1'));
  return own!.length === other!.length && timingSafeEqual(own!, other!);
}

/** The value of Authorization, or of WWW-Authenticate. */
export function written(nonce: string, proof?: string): string {
  return `Airsplice nonce="${nonce}"${proof === undefined ? '' : `, proof="${proof}"`}`;
}

/** Null: it is another scheme, or malformed. */
export function read(header: string | undefined): { readonly nonce: string; readonly proof: string | null } | null {
  const [, nonce, proof] = /^Airsplice nonce="([\w-]+)"(?:, proof="([\w-]{43})")?$/.exec(header ?? '') ?? [];
  return nonce === undefined || !NONCE.test(nonce) ? null : { nonce, proof: proof ?? null };
}
