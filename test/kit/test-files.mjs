/** The test files, as paths from the root of the tree. */

import { existsSync, readdirSync } from 'node:fs';

export const ALL = readdirSync('test', { recursive: true })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`)
  .sort();

/** Finds files by name; throws for a missing one, which may have been moved. */
export function files(folder, names) {
  const paths = names.split(/\s+/).map((name) => `test/${folder}/${name}.test.ts`);
  for (const path of paths)
    if (!existsSync(path)) throw new Error(`${path} is not there: see test/kit/tiers.mjs and test/kit/rotated.mjs`);
  return paths;
}
