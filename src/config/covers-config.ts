/** Options of `covers` of a channel: where the covers of its titles come from. They are explained in config/example.yaml. */

import type { z } from 'zod';
import { etypeRange, list, readableFolder, seconds, section, webUrl, whole } from './field.js';
import type { NumberRange } from './number-range.js';

/** Content types of music, and the unknown one. */
const MUSIC: NumberRange[] = [
  { from: 0, to: 0 },
  { from: 1001, to: 1008 },
];

/** A folder, a hook, or both (checks.ts). */
export function coversSchema(folder: string) {
  return section({
    // Needs streams.publicUrl (checks.ts).
    folder: readableFolder(folder).optional(),
    hook: webUrl().optional(),
    etypes: list(etypeRange(), 1, 16).default(MUSIC),
    timeoutSeconds: seconds(0.05, 60).default(5),
    cacheEntries: whole(1, 100_000).default(1000),
    cacheSeconds: seconds(0, 31_536_000).default(604_800),
  });
}

export type CoversConfig = z.output<ReturnType<typeof coversSchema>>;
