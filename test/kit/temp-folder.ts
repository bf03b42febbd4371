/** A folder that goes when the test has ended. */

import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

export function tempFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'airsplice-test-'));
  // The children of a program that was killed may write a little later. rmSync holds all tests of the file meanwhile, and in vain.
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return folder;
}
