/** What every part of the server is given: the configuration, the clock, the logs. Created once for each process. */

import type { Clock } from '../base/clock.js';
import { withGetters } from '../base/getters.js';
import { KeptLog } from '../base/kept-log.js';
import { type Log, Repeats } from '../base/log.js';
import { RefusalLog } from '../base/refusal-log.js';
import { SecretMask } from '../base/secret-mask.js';
import { Tallies } from '../base/tallies.js';
import type { LoadedConfig } from '../config/load.js';
import type { HeadLimits } from '../net/front/head-reader.js';

export interface Core {
  /** The configuration in force: a reload changes it in place (config/adopt.ts). */
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** Its last lines. */
  readonly lines: KeptLog;
  /** The refused requests, with the reasons. */
  readonly refusals: RefusalLog;
  /** Takes secrets out of what is logged. */
  readonly secrets: SecretMask;
  /** For problems that may recur. */
  readonly repeats: Repeats;
  /** The counts shared with the other processes of this server, if any. */
  readonly tallies: Tallies;
  /** The number of this process; 0: it is the only one. */
  readonly process: number;
  /** Something that should not happen. */
  onError(error: unknown): void;
}

/** The limits of request heads that are parsed here. */
export function headLimits({ limits }: LoadedConfig, headBytes = () => limits.headBytes): HeadLimits {
  return withGetters<HeadLimits>({
    headBytes,
    headLines: () => limits.headLines,
    headMs: () => limits.headSeconds * 1000,
  });
}

export function makeCore(config: LoadedConfig, clock: Clock, written: Log, process = 0): Core {
  clock.watchdog.longMs = config.log.longTurnMs;
  const lines = new KeptLog(config.admin.logLines);
  const log = lines.over(written);
  const repeats = new Repeats(log);
  return {
    config,
    clock,
    log,
    lines,
    repeats,
    process,
    tallies: new Tallies(config.limits.addressesRemembered),
    refusals: new RefusalLog(log, clock, {
      get perSecond() {
        return config.log.refusalsPerSecond;
      },
      remembered: config.limits.addressesRemembered,
      kept: config.admin.refusals,
    }),
    secrets: new SecretMask(config.log.secretNames),
    onError: (error) => repeats.warn('internal', { err: error }, 'internal error'),
  };
}
