/** Why an order brought no certificate, for operators, and when the authority allows the next one. */

import { printable } from '../../base/printable.js';

/** An authority's text may be of any length. */
const MAX_CHARACTERS = 300;
/** A longer pause that an authority asks for is cut to this: the certificate would expire. */
const MAX_AFTER_MS = 86_400_000;

export class OrderRefused extends Error {
  override readonly name: string = 'OrderRefused';
  /** Milliseconds until the authority allows the next order; 0: it does not say. */
  readonly afterMs: number;

  constructor(reason: string, afterMs = 0) {
    const text = printable(reason.slice(0, 2 * MAX_CHARACTERS)).trim() || 'the answer of the authority is unreadable';
    super(text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)} …` : text);
    this.afterMs = afterMs;
  }
}

/** Milliseconds from a value of Retry-After (RFC 9110, 10.2.3): seconds, or a date. 0: unreadable, or past. */
export function retryAfterMs(value: string | undefined, wallMs: number): number {
  if (value === undefined) return 0;
  const ms = /^\d{1,12}$/.test(value) ? Number(value) * 1000 : dateMs(value) - wallMs;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_AFTER_MS) : 0;
}

/** NaN: it is not a date. */
function dateMs(value: string): number {
  return /^[A-Z][a-z]{2,8},? /.test(value) ? Date.parse(value) : Number.NaN;
}
