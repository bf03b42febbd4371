/** Options of statistics (src/statistics/README.md). */

import * as z from 'zod';
import { flag, readableFile, section, whole } from './field.js';

/** @param folder for relative paths */
export function statisticsSchema(folder: string) {
  return section({
    enabled: flag().default(true),
    minutesKept: whole(1, 100_000).default(1440),
    hoursKept: whole(1, 100_000).default(8784),
    rowsPerHour: whole(1, 10_000).default(100),
    titleDays: whole(1, 3650).default(400),
    titlesPerChannel: whole(1, 10_000_000).default(200_000),
    answerRows: whole(1, 1_000_000).default(50_000),
    // "": no countries.
    countryFile: z
      .union([z.literal(''), readableFile(folder)], {
        error: `must be a file that can be read (relative to ${folder}), or ""`,
      })
      .default(''),
  }).prefault({});
}
