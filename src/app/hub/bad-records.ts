/** Records of what all machines have in common that are skipped: damaged, or written by another program. */

import type { Core } from '../core.js';

const BAD_RECORD = 'a shared record is damaged, or another program wrote it: it is skipped';

/** Logs a record that is skipped, with its place. */
export function badRecords(repeats: Core['repeats']): (place: string, reason: string) => void {
  return (place, reason) => repeats.warn('bad record', { place, reason }, BAD_RECORD);
}
