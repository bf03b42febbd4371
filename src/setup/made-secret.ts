/** Makes secrets, which are shown once and kept nowhere. A configuration gets their digests. */

import { createHash, randomBytes } from 'node:crypto';

/** 256 bits: twice what the contract requires. */
const TOKEN_BYTES = 32;
/** 144 bits: short enough for the narrow fields of some encoders, and to be typed. */
const PASSWORD_BYTES = 18;

export interface MadeSecret {
  readonly plain: string;
  /** The form in the configuration: `sha256:…`. */
  readonly option: string;
}

/** A push token: letters, digits, - and _. */
export function makeToken(): MadeSecret {
  return secretOf(randomBytes(TOKEN_BYTES).toString('base64url'));
}

/** A password: letters, digits, - and _. */
export function makePassword(): MadeSecret {
  return secretOf(randomBytes(PASSWORD_BYTES).toString('base64url'));
}

/** An existing secret, with its form in the configuration. */
export function secretOf(plain: string): MadeSecret {
  return { plain, option: `sha256:${createHash('sha256').update(plain, 'utf8').digest('hex')}` };
}
