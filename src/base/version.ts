/** Which version of airsplice this is. */

import { readFileSync } from 'node:fs';

/** As package.json says, which is at the same relative place from src/base and from dist/base. */
export function ownVersion(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}
