/**
 * Options that decide who may listen: the hook for listeners, and the keys of signed URLs; a channel chooses one by `access`, and checks.ts
 * requires that it is configured. And who may send: the hook for encoders whose password is not the channel's own.
 */

import type { z } from 'zod';
import { choice, list, seconds, section, webUrl, whole } from './field.js';
import { signingKeySchema } from './secret.js';

/** How a channel's listeners are admitted. */
export const ACCESS = ['open', 'hook', 'signed'] as const;
export type Access = (typeof ACCESS)[number];

export function hookSchema() {
  return section({
    url: webUrl(),
    timeoutSeconds: seconds(0.05, 60).default(3),
    parallel: whole(1, 10_000).default(32),
    waiting: whole(0, 1_000_000).default(10_000),
    cacheSeconds: seconds(0, 86_400).default(0),
    cacheEntries: whole(1, 1_000_000).default(10_000),
    cacheBy: choice(['address', 'credentials']).default('address'),
    whenDown: choice(['deny', 'allow']).default('deny'),
    breakAfter: whole(1, 10_000).default(5),
    breakSeconds: seconds(0.1, 3600).default(10),
  });
}

/** The hook for encoders; while it is down, it admits none. */
export function encoderHookSchema() {
  return section({
    url: webUrl(),
    timeoutSeconds: seconds(0.05, 60).default(3),
    parallel: whole(1, 10_000).default(8),
    waiting: whole(0, 1_000_000).default(100),
    cacheSeconds: seconds(0, 86_400).default(0),
    cacheEntries: whole(1, 1_000_000).default(1000),
    breakAfter: whole(1, 10_000).default(5),
    breakSeconds: seconds(0.1, 3600).default(10),
  });
}

export type EncoderHookConfig = z.output<ReturnType<typeof encoderHookSchema>>;

export function signedUrlsSchema(env: NodeJS.ProcessEnv) {
  return section({
    keys: list(signingKeySchema(env), 1, 2),
  });
}
