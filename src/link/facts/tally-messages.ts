/** The control messages by which processes share their counts (base/tallies.ts), in both directions of a link. */

import * as z from 'zod';
import { MAX_COUNTED, type Plain } from '../../metadata/record-schema.js';

/** Interval at which a worker sends changed counts, and at which the hub forwards them, as long as they change. Together well below a second. */
export const TALLY_MS = 125;
export const TALLY_PASS_MS = 80;
/** Interval at which changes are looked for while none is noticed. */
export const LOOK_MS = 1000;
/**
 * Approximate number of rows in one message (2 to 3 ms at both ends). 10,000 addresses that connect within a second, each in three tallies, are sent
 * within that second.
 */
export const MAX_TALLY_ROWS = 4096;

/** Names of tallies, and rows, in one message: enough for a million connections. */
const MAX_NAMES = 200_000;
export const MAX_ROWS = 1_000_000;
/** Maximum length of the key of a tally, of a scope, of an id. */
const MAX_KEY_CHARACTERS = 256;

export const key = z.string().max(MAX_KEY_CHARACTERS);
/** Checked by hand: there may be thousands, eight times a second. */
const rowsOf = (least: number) =>
  z.custom<readonly (readonly [string, number])[]>(
    (value) => Array.isArray(value) && value.length <= MAX_ROWS && value.every((row) => isRow(row, least)),
    { error: 'must be pairs of a key and a number' },
  );

function isRow(row: unknown, least: number): boolean {
  if (!Array.isArray(row) || row.length !== 2) return false;
  const [name, count] = row as readonly unknown[];
  if (typeof name !== 'string' || name.length > MAX_KEY_CHARACTERS || typeof count !== 'number') return false;
  return count >= least && count <= MAX_COUNTED;
}

const rows = rowsOf(0);

export const tallies = z.looseObject({
  type: z.literal('tallies'),
  /** From a worker: its own counts. From the hub: the counts of all other processes. */
  rows: z.looseObject({
    counts: z.array(z.tuple([key, rows])).max(MAX_NAMES),
    peaks: rows,
    notices: z.array(z.tuple([key, rowsOf(-MAX_COUNTED)])).max(MAX_NAMES),
  }),
  /** From the hub: whether it is the first on this link. */
  isFirst: z.boolean(),
});
export type TallyMessage = Plain<z.output<typeof tallies>>;
