/** Options of directories of streams (YP, as Icecast has them): what they are, and how often they are asked. */

import type { z } from 'zod';
import { onAnyMap, seconds, section, webUrl } from '../field.js';

export function directorySchema() {
  return section({
    url: webUrl(),
    timeoutSeconds: seconds(0.05, 60).default(15),
    // What the directory asks for is kept between these.
    touchSeconds: section({ min: seconds(1, 86_400).default(30), max: seconds(1, 86_400).default(3600) })
      .refine((touch) => !(touch.min > touch.max), {
        path: ['max'],
        error: 'must not be less than min',
        when: onAnyMap,
      })
      .prefault({}),
    retrySeconds: section({ min: seconds(0.05, 86_400).default(30), max: seconds(0.05, 86_400).default(3600) })
      .refine((retry) => !(retry.min > retry.max), {
        path: ['max'],
        error: 'must not be less than min',
        when: onAnyMap,
      })
      .prefault({}),
  });
}

/** A rule of the whole configuration. */
export const LISTED_AT = {
  path: ['directories'],
  error: 'needs streams.publicUrl, where its channels are heard',
  when: onAnyMap,
};

export type DirectoryConfig = z.output<ReturnType<typeof directorySchema>>;
