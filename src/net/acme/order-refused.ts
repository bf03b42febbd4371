/** Why an order brought no certificate, as far as an operator can know, and when the authority wants to be asked again. */

import { printable } from '../../base/printable.js';

/** What an authority writes may be of any length. */
const MAX_CHARACTERS = 300;
/** An authority that says more is asked again all the same: the certificate would expire. */
const MAX_AFTER_MS = 86_400_000;

export class OrderRefused extends Error {
  override readonly name: string = 'OrderRefused';
  /** Not to be asked before, milliseconds; 0: it does not say. */
  readonly afterMs: number;

  constructor(reason: string, afterMs = 0) {
    const text = printable(reason.slice(0, 2 * MAX_CHARACTERS)).trim() || 'what the authority answers cannot be read';
    super(text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)} …` : text);
    this.afterMs = afterMs;
  }
}

/** The value of Retry-After (RFC 9110, 10.2.3): seconds, or a date. 0: none that can be read, or one that is over. */
export function retryAfterMs(value: string | undefined, wallMs: number): number {
  if (value === undefined) return 0;
  const ms = /^\d{1,12}$/.test(value) ? Number(value) * 1000 : dateMs(value) - wallMs;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_AFTER_MS) : 0;
}

/** NaN: it is none. */
function dateMs(value: string): number {
  return /^[A-Z][a-z]{2,8},? /.test(value) ? Date.parse(value) : Number.NaN;
}
