/**
 * A random salt for each day in UTC, deleted after it, so that listeners can be compared within a day only. The hub makes those of today and
 * tomorrow, keeps them in the store, and sends them to the workers. Without a salt a token cannot be traced to its listener.
 */

import { createHash, randomBytes } from 'node:crypto';
import { PERIOD_MS, startOf } from './figures.js';
import { tokenOf } from './sketch.js';

const DAY_MS = PERIOD_MS.day;
const SALT_BYTES = 16;

/** A day (unix milliseconds of its start in UTC) and its salt. Plain data, for the link and the store. */
export type DaySalt = readonly [dayMs: number, salt: string];

/**
 * The salts of today and tomorrow, made if not known.
 * @param steadyMs the most likely time if the wall clock is ahead (base/steady-time.ts): that day's salts are kept too
 */
export function saltsFor(wallMs: number, known: readonly DaySalt[], steadyMs = wallMs): DaySalt[] {
  const days = [wallMs, wallMs + DAY_MS, steadyMs, steadyMs + DAY_MS].map((atMs) => startOf('day', atMs));
  return [...new Set(days)].map(
    (day) => known.find(([ofDay]) => ofDay === day) ?? [day, randomBytes(SALT_BYTES).toString('base64')],
  );
}

/** Kept for a listener while it is connected. @param identity what makes two connections one listener */
export function digestOf(identity: string): string {
  return createHash('sha256').update(identity).digest('base64url').slice(0, 22);
}

/** The token of a listener for sketches. */
export function saltedToken(salt: string, digest: string): number {
  return tokenOf(createHash('sha256').update(salt).update(digest).digest());
}
