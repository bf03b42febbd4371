/** Secrets that are made here: shown once, kept nowhere. A configuration gets their digests. */

import { createHash, randomBytes } from 'node:crypto';

/** 256 bits: twice what the contract asks for. */
const TOKEN_BYTES = 32;
/** 144 bits: some encoders show it in a narrow field, and some presenters type it. */
const PASSWORD_BYTES = 18;

export interface MadeSecret {
  readonly plain: string;
  /** As the configuration writes it. */
  readonly option: string;
}

/** Of a push. Letters, digits, - and _. */
export function makeToken(): MadeSecret {
  return secretOf(randomBytes(TOKEN_BYTES).toString('base64url'));
}

/** Of an encoder. Letters, digits, - and _. */
export function makePassword(): MadeSecret {
  return secretOf(randomBytes(PASSWORD_BYTES).toString('base64url'));
}

/** A secret that is there already. */
export function secretOf(plain: string): MadeSecret {
  return { plain, option: `sha256:${createHash('sha256').update(plain, 'utf8').digest('hex')}` };
}
