/** The admission of listeners (http/stream/admission.ts) and its hook, as the configuration wants them. Built by network.ts. */

import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { Config } from '../config/schema.js';
import { Admission } from '../http/stream/admission.js';
import { ListenerHook } from '../http/stream/hook.js';
import type { Audience } from '../listener/audience.js';
import type { Metrics } from './metrics.js';

export interface AdmitParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly audience: Audience;
  readonly metrics: Metrics;
}

export interface Admitting {
  readonly admission: Admission;
  /** Null: there is none. */
  readonly hook: ListenerHook | null;
}

export function makeAdmission({ config, clock, log, audience, metrics }: AdmitParts): Admitting {
  const { listenerHook, limits, signedUrls } = config;
  const hook =
    listenerHook === undefined
      ? null
      : new ListenerHook(clock, {
          ...listenerHook,
          timeoutMs: listenerHook.timeoutSeconds * 1000,
          cacheMs: listenerHook.cacheSeconds * 1000,
          breakMs: listenerHook.breakSeconds * 1000,
          onVerdict: (verdict) => metrics.hook.inc({ verdict }),
          onTroubleChanged: (trouble) => {
            const { whenDown } = listenerHook;
            // Never with its URL, which may hold a secret.
            if (trouble === null) log.info('the listener hook answers again');
            else log.error({ trouble, whenDown }, 'the listener hook does not answer: it is left alone for a while');
          },
        });
  const admission = new Admission(audience, clock, hook, {
    listeners: limits.listeners,
    listenersPerAddress: limits.listenersPerAddress ?? Number.POSITIVE_INFINITY,
    keys: signedUrls?.keys ?? [],
    retrySeconds: Math.ceil(listenerHook?.breakSeconds ?? 1),
  });
  return { admission, hook };
}
