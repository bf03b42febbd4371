/** The title in force for the operator page, with all fields that a correction needs. */

import type { TitleReport } from '../../admin/channel-rows.js';
import { titleLine } from '../../metadata/record.js';
import type { InForce } from '../../titles/pushes.js';

export function titleReport(inForce: InForce | null): TitleReport | null {
  if (inForce === null) return null;
  const { record, isCorrectable } = inForce;
  const { id, artist, song, album, cover, durationSeconds, source, effectAtMs: sinceMs } = record;
  return { id, title: titleLine(record), artist, song, album, cover, durationSeconds, source, sinceMs, isCorrectable };
}
