/** All targets of the fuzzers, other than the front and the encoder services (fuzz-front.ts). */

import type { Test } from 'tap';
import type { FuzzTarget } from './fuzz.js';
import { FRAMER_TARGETS } from './targets/framers.js';
import { frontTargets } from './targets/fronts.js';
import { TEXT_TARGETS } from './targets/texts.js';

/** @param t ends what the targets have started */
export function fuzzTargets(t: Test): readonly FuzzTarget[] {
  return [...FRAMER_TARGETS, ...TEXT_TARGETS, ...frontTargets(t)];
}
