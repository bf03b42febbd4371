/**
 * Stations, their channels and what feeds these: the part of the configuration that an operator writes by hand.
 * Every default stands here or in schema.ts, in the literal itself. What concerns several members at once is in checks.ts.
 */

import { z } from 'zod';
import {
  flag,
  keyed,
  list,
  mount,
  onAnyMap,
  readableFile,
  seconds,
  section,
  text,
  timezone,
  webUrl,
  whole,
} from './field.js';
import { secretSchema } from './secret.js';

/** What a configuration is read against. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  /** The folder of the configuration file, absolute: paths of file sources are relative to it. */
  readonly folder: string;
}

function sourceSchema({ env, folder }: Surroundings) {
  const encoder = section({
    type: z.literal('encoder'),
    user: text(1, 255).default('source'),
    password: secretSchema(env),
  });
  const file = section({
    type: z.literal('file'),
    path: readableFile(folder),
  });
  const pull = section({
    type: z.literal('pull'),
    url: webUrl(),
    onDemand: flag().default(false),
    lingerSeconds: seconds(0, 86_400).default(10),
    connectTimeoutSeconds: seconds(0.1, 300).default(10),
    stallSeconds: seconds(0.1, 600).default(15),
    retrySeconds: section({
      min: seconds(0.05, 3600).default(1),
      max: seconds(0.05, 3600).default(30),
    })
      .refine((retry) => !(retry.min > retry.max), {
        path: ['max'],
        error: 'must not be less than min',
        when: onAnyMap,
      })
      .prefault({}),
  });
  return z.discriminatedUnion('type', [encoder, file, pull], { error: unionProblem });
}

// zod asks the same function about a source that is no map and about its type.
function unionProblem(issue: { readonly code?: string }): string {
  return issue.code === 'invalid_union' ? 'must be one of: encoder, file, pull' : 'must be a map of options';
}

function channelSchema(surroundings: Surroundings) {
  return section({
    name: text(0, 255).default(''),
    genre: text(0, 255).default(''),
    url: z.union([z.literal(''), webUrl()], { error: 'must be an http:// or https:// URL, or ""' }).default(''),
    description: text(0, 1024).default(''),
    public: flag().default(false),
    mounts: list(mount(), 0, 32).default([]),
    metaint: whole(256, 65_535).optional(),
    bitrateKbps: whole(8, 2000).optional(),
    maxListeners: whole(1, 1_000_000).optional(),
    pushTokens: list(secretSchema(surroundings.env), 0, 2).default([]),
    sources: list(sourceSchema(surroundings), 1, 16),
  });
}

export function stationSchema(surroundings: Surroundings) {
  return section({
    name: text(0, 255).default(''),
    timezone: timezone().default('UTC'),
    channels: keyed(channelSchema(surroundings)),
  });
}
