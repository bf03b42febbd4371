/**
 * The one way in which content gets its tag: whoever serves the same bytes serves the same tag, in this process or another.
 * Owned by nobody: a pure function.
 */

import { createHash } from 'node:crypto';

/** 22 characters of `A-Za-z0-9_-`, for a strong ETag; the quotes are the caller's. */
export function contentTag(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22);
}
