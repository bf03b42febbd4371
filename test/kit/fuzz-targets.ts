/** All targets of the fuzzers; the front's and encoder services beside them are fuzz-front.ts. */

import type { Test } from 'tap';
import type { FuzzTarget } from './fuzz.js';
import { FRAMER_TARGETS } from './targets/framers.js';
import { frontTargets } from './targets/fronts.js';
import { TEXT_TARGETS } from './targets/texts.js';

/** @param t whose end ends what they have started */
export function fuzzTargets(t: Test): readonly FuzzTarget[] {
  return [...FRAMER_TARGETS, ...TEXT_TARGETS, ...frontTargets(t)];
}
