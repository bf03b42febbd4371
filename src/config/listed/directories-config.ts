/** Options of stream directories (YP, as in Icecast): their URLs, and how often they are contacted. */

import type { z } from 'zod';
import { minMaxSeconds, onAnyMap, seconds, section, webUrl } from '../field.js';

export function directorySchema() {
  return section({
    url: webUrl(),
    timeoutSeconds: seconds(0.05, 60).default(15),
    // Bounds of the interval that the directory asks for.
    touchSeconds: minMaxSeconds(1, 86_400, 30, 3600),
    retrySeconds: minMaxSeconds(0.05, 86_400, 30, 3600),
  });
}

/** A rule of the whole configuration: an entry in a directory needs the public URL. */
export const LISTED_AT = {
  path: ['directories'],
  error: 'needs streams.publicUrl, where its channels are heard',
  when: onAnyMap,
};

export type DirectoryConfig = z.output<ReturnType<typeof directorySchema>>;
