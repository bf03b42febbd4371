/** A folder that goes when the test has ended. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

export function tempFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'airsplice-test-'));
  // The children of a program that was killed may end, and write, a little later.
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return folder;
}
