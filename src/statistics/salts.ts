/**
 * What makes listeners of one day comparable, and of two days not: a random salt for each day in UTC, thrown away with it. The hub makes those of
 * today and tomorrow, keeps them in the store, and says them to the workers; who has neither cannot know which listener a token stands for.
 */

import { createHash, randomBytes } from 'node:crypto';
import { tokenOf } from './sketch.js';

const DAY_MS = 86_400_000;
const SALT_BYTES = 16;

/** A day (milliseconds of its first moment in UTC) and its salt. Plain data, for a link and a store. */
export type DaySalt = readonly [dayMs: number, salt: string];

export function dayOf(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS) * DAY_MS;
}

/**
 * The salts of today and tomorrow: known ones, or new ones.
 * @param steadyMs the most likely time while the wall clock is ahead (base/steady-time.ts): the salts of that day are kept too
 */
export function saltsFor(wallMs: number, known: readonly DaySalt[], steadyMs = wallMs): DaySalt[] {
  return [...new Set([wallMs, wallMs + DAY_MS, steadyMs, steadyMs + DAY_MS].map(dayOf))].map(
    (day) => known.find(([ofDay]) => ofDay === day) ?? [day, randomBytes(SALT_BYTES).toString('base64')],
  );
}

/** What is kept of a listener while it is connected. @param identity what makes two connections one listener */
export function digestOf(identity: string): string {
  return createHash('sha256').update(identity).digest('base64url').slice(0, 22);
}

/** What a sketch gets of a listener. */
export function saltedToken(salt: string, digest: string): number {
  return tokenOf(createHash('sha256').update(salt).update(digest).digest());
}
