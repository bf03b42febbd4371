/**
 * Secrets that several machines share and one of them issues (a certificate, the keys of TLS tickets). Each has a lease, beside those of the audio
 * (tapes/leases.ts). The facts of the lease are the secret, encrypted with the secret of the cluster, so that Redis and its readers do not
 * learn it.
 *
 *   facts = base64url( nonce 12 · tag 16 · AES-256-GCM of the JSON; the name is authenticated with it )
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { decode, encode } from '../metadata/codec.js';
import type { SharedTurn } from '../net/shared-turn.js';
import { type Leased, type LeaseOwner, NO_RANK } from './tapes/leases.js';

const CIPHER = 'aes-256-gcm';
const [KEY_BYTES, NONCE_BYTES, TAG_BYTES] = [32, 12, 16];

export interface SealedTurnParts<T> {
  /** Identifies the secret among those of its kind. */
  readonly name: string;
  /** Keeps this use of the secret apart from others (tapes/tape-auth.ts). */
  readonly label: string;
  /** The name of this machine. */
  readonly node: string;
  readonly secret: Buffer;
  readonly schema: z.ZodType<T>;
  /** The facts of another machine cannot be read. */
  onBad(reason: string): void;
}

export class SealedTurn<T> implements SharedTurn<T>, Leased {
  readonly wish = 1;
  readonly rank = NO_RANK;
  isOwn = false;
  readonly #parts: SealedTurnParts<T>;
  readonly #key: Buffer;
  /** The shared secret, as JSON. */
  #text = '';

  /** When it was published, monotonic milliseconds; null: not yet. */
  #saidMs: number | null = null;
  #heard: T | null = null;

  constructor(parts: SealedTurnParts<T>) {
    this.#parts = parts;
    this.#key = Buffer.from(hkdfSync('sha256', parts.secret, '', parts.label, KEY_BYTES));
  }

  say(shared: T): void {
    const text = encode(shared);
    if (text === this.#text) return;
    this.#text = text;
    this.#saidMs = null;
  }

  wasSaid(forMs: number): boolean {
    return this.isOwn && this.#saidMs !== null && performance.now() - this.#saidMs >= forMs;
  }

  heard(): T | null {
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
    const isOwn = node === this.#parts.node;
    if (isOwn !== this.isOwn) this.#saidMs = null;
    // Another machine issues it from now on, and continues with the one of this machine.
    if (this.isOwn && !isOwn && this.#text !== '') this.#heard = decode(this.#parts.schema, this.#text);
    this.isOwn = isOwn;
    if (isOwn || facts === '') return;
    try {
      this.#heard = this.#open(facts);
    } catch (error) {
      this.#parts.onBad((error as Error).message);
    }
  }

  #seal(text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(this.#parts.name));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** Throws if it was sealed with another secret or under another name, or is damaged. */
  #open(facts: string): T {
    const bytes = Buffer.from(facts, 'base64url');
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const cipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(this.#parts.name)).setAuthTag(tag);
    const sealed = bytes.subarray(NONCE_BYTES + TAG_BYTES);
    const text = Buffer.concat([cipher.update(sealed), cipher.final()]).toString();
    return decode(this.#parts.schema, text);
  }
}
