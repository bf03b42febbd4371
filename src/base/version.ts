/** Which version of airsplice this is. */

import { readFileSync } from 'node:fs';
import { packageFile } from './own-files.js';

/** As package.json says. */
export function ownVersion(): string {
  return JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version;
}
