/** Records of the shared log that are skipped: damaged, or written by another program. */

import type { Core } from '../core.js';

const BAD_RECORD = 'a shared record is damaged, or another program wrote it: skipping it';

/** Maximum number of logged records that are remembered. */
const MAX_SAID = 1000;

/** Logs a record that is skipped, with its place; once, though it is read again and again. */
export function badRecords(repeats: Core['repeats']): (place: string, reason: string) => void {
  const said = new Set<string>();
  return (place, reason) => {
    const text = `${place} ${reason}`;
    if (said.has(text)) return;
    if (said.size >= MAX_SAID) said.clear();
    said.add(text);
    repeats.warn('bad record', { place, reason }, BAD_RECORD);
  };
}
