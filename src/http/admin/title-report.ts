/** The title in force for the operator page, with all fields that a correction needs. */

import { type TitleSource, titleLine } from '../../metadata/record.js';
import type { InForce } from '../../titles/pushes.js';

export interface TitleReport {
  readonly id: string;
  /** The line that players show. */
  readonly title: string;
  readonly artist: string;
  readonly song: string;
  readonly album: string;
  /** The URL of an image, as pushed. */
  readonly cover: string;
  /** 0: no known end. */
  readonly durationSeconds: number;
  readonly source: TitleSource;
  /** When it took effect, unix milliseconds. */
  readonly sinceMs: number;
  /** Whether a push with its id corrects it; otherwise such a push is another play. */
  readonly isCorrectable: boolean;
}

export function titleReport(inForce: InForce | null): TitleReport | null {
  if (inForce === null) return null;
  const { record, isCorrectable } = inForce;
  const { id, artist, song, album, cover, durationSeconds, source, effectAtMs: sinceMs } = record;
  return { id, title: titleLine(record), artist, song, album, cover, durationSeconds, source, sinceMs, isCorrectable };
}
