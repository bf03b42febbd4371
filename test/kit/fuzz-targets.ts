/** All targets of the fuzzers; the front's and encoders' doors beside them are fuzz-doors.ts. */

import type { Test } from 'tap';
import type { FuzzTarget } from './fuzz.js';
import { doorTargets } from './targets/doors.js';
import { FRAMER_TARGETS } from './targets/framers.js';
import { TEXT_TARGETS } from './targets/texts.js';

/** @param t whose end ends what they have started */
export function fuzzTargets(t: Test): readonly FuzzTarget[] {
  return [...FRAMER_TARGETS, ...TEXT_TARGETS, ...doorTargets(t)];
}
