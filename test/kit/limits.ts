/** The default limits of a push in the configuration. */

import type { PushLimits } from '../../src/metadata/push-input.js';

export const PUSH_LIMITS: PushLimits = {
  parameters: 64,
  textBytes: 1024,
  urlBytes: 4096,
  timezoneCharacters: 64,
  extdataBytes: 16_384,
  extdataDepth: 32,
};
