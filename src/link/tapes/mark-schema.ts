/** A title on a tape, as another process or machine sends it (linked-marks.ts, open-segments.ts): checked like a push. */

import * as z from 'zod';
import { MAX_PUSH } from '../../config/push-limits.js';
import type { Tags } from '../../metadata/icy.js';
import { cleaned } from '../../metadata/push-schema.js';
import { CheckError, must, viewSchema } from '../../metadata/record-schema.js';
import type { RecordView } from '../../metadata/view.js';

const tag = cleaned(2 * MAX_PUSH.textBytes);
const markSchema = z.looseObject({
  ...viewSchema.shape,
  tags: z.looseObject({ artist: tag, title: tag, album: tag }),
});

export type MarkText = Pick<RecordView, 'record' | 'channel'> & { readonly tags: Tags };

/** An ICY block: its first byte is its length in steps of 16 bytes. */
export const MAX_BLOCK_BYTES = 1 + 255 * 16;

/** @throws CheckError */
export function readMark(channel: string, value: unknown, block: Buffer): MarkText {
  const read = must<MarkText>(markSchema, value);
  if (read.record.channel !== channel || read.channel.key !== channel) throw new CheckError('it is of another channel');
  if (block.length !== 1 + (block[0] ?? 0) * 16) throw new CheckError(`its block has ${block.length} bytes`);
  return read;
}
