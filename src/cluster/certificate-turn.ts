/**
 * Which machine orders a certificate that several serve: a lease for each, beside those of the audio (tapes/leases.ts). Its facts are the account and
 * the certificate with its key, sealed by the secret of the cluster, since Redis and who may read it must not have them.
 *
 *   facts = base64url( nonce 12 · tag 16 · AES-256-GCM of the JSON; the name of the certificate is authenticated with it )
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { AcmeTurn, SharedCertificate } from '../net/acme/acme-turn.js';
import { type Leased, type LeaseOwner, NO_RANK } from './tapes/leases.js';

/** Keeps this use of the secret apart from others (tapes/tape-auth.ts). */
const LABEL = 'airsplice certificates 1';
const CIPHER = 'aes-256-gcm';
const [KEY_BYTES, NONCE_BYTES, TAG_BYTES] = [32, 12, 16];

/** Of its lease: no channel has a slash in its key. */
export function leaseName(certificate: string): string {
  return `${certificate}/certificate`;
}

export class CertificateTurn implements AcmeTurn, Leased {
  readonly wish = 1;
  readonly rank = NO_RANK;
  isOwn = false;
  readonly #name: string;
  readonly #node: string;
  readonly #key: Buffer;
  readonly #onBad: (reason: string) => void;
  /** What the others are to have. */
  #text = '';

  /** When that was handed on, monotonic milliseconds; null: it has to be. */
  #saidMs: number | null = null;
  #heard: SharedCertificate | null = null;

  /** @param onBad what another machine says cannot be read */
  constructor(name: string, node: string, secret: Buffer, onBad: (reason: string) => void) {
    this.#name = name;
    this.#node = node;
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', LABEL, KEY_BYTES));
    this.#onBad = onBad;
  }

  say(shared: SharedCertificate): void {
    const text = JSON.stringify(shared);
    if (text === this.#text) return;
    this.#text = text;
    this.#saidMs = null;
  }

  wasSaid(forMs: number): boolean {
    return this.isOwn && this.#saidMs !== null && performance.now() - this.#saidMs >= forMs;
  }

  heard(): SharedCertificate | null {
    return this.#heard;
  }

  get facts(): string {
    if (!this.isOwn || this.#text === '' || this.#saidMs !== null) return '';
    this.#saidMs = performance.now();
    return this.#seal(this.#text);
  }

  onUnsaid(): void {
    this.#saidMs = null;
  }

  onOwner({ node, facts }: LeaseOwner): void {
    const isOwn = node === this.#node;
    if (isOwn !== this.isOwn) this.#saidMs = null;
    this.isOwn = isOwn;
    if (isOwn || facts === '') return;
    try {
      this.#heard = this.#open(facts);
    } catch (error) {
      this.#onBad((error as Error).message);
    }
  }

  #seal(text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(this.#name));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** Throws where it is of another secret, of another certificate, or damaged. */
  #open(facts: string): SharedCertificate {
    const bytes = Buffer.from(facts, 'base64url');
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const cipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(this.#name)).setAuthTag(tag);
    const sealed = bytes.subarray(NONCE_BYTES + TAG_BYTES);
    const text = Buffer.concat([cipher.update(sealed), cipher.final()]).toString();
    const { account, pair } = JSON.parse(text) as Partial<Record<keyof SharedCertificate, unknown>>;
    if (typeof account !== 'string' || (pair !== null && typeof pair !== 'string'))
      throw new Error('has other members');
    return { account, pair };
  }
}
