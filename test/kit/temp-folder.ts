/** A folder that is removed when the test has ended. */

import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

export function tempFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'airsplice-test-'));
  // Children of a killed program may write a little later. rmSync would block all tests of the file meanwhile.
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return folder;
}
