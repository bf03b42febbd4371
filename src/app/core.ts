/** What every part of the server is given: the configuration, the time, and where problems go. Made by app.ts. */

import type { Clock } from '../base/clock.js';
import type { Log, Repeats } from '../base/log.js';
import type { RefusalLog } from '../base/refusal-log.js';
import type { SecretMask } from '../base/secret-mask.js';
import type { LoadedConfig } from '../config/load.js';
import type { HeadLimits } from '../net/head-reader.js';

export interface Core {
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** Who was refused and why. */
  readonly refusals: RefusalLog;
  /** Takes secrets out of what is logged. */
  readonly secrets: SecretMask;
  /** For problems that may come again and again. */
  readonly repeats: Repeats;
  /** Something that should not happen. */
  onError(error: unknown): void;
}

/** Of requests that are read by hand. */
export function headLimits({ limits }: LoadedConfig, headBytes = limits.headBytes): HeadLimits {
  return { headBytes, headLines: limits.headLines, headMs: limits.headSeconds * 1000 };
}
