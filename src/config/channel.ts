/**
 * Stations, their channels and what feeds these: the part of the configuration that an operator writes by hand.
 * Every default stands here or in schema.ts, in the literal itself. What concerns several members at once is in checks.ts.
 */

import { z } from 'zod';
import {
  choice,
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

/** The content types that icy.etypes may name: a word of metadata/icy.ts, or an id of the specification. */
const ETYPE = /^(unknown|jingle|promo|advertising|news|article|music|0|10[1-5]|100[1-8])$/;
const ETYPE_ERROR = 'must be one of: unknown, jingle, promo, advertising, news, article, music, or an etype id';

function icySchema() {
  const error = 'must be none, cover, or an http:// or https:// URL';
  const isUrl = (value: string) => webUrl().safeParse(value).success;
  return section({
    charset: choice(['utf-8', 'iso-8859-1']).default('utf-8'),
    apostrophe: choice(['keep', 'typographic']).default('keep'),
    streamUrl: z
      .string({ error })
      .refine((value) => value === 'none' || value === 'cover' || isUrl(value), { error })
      .default('none'),
    etypes: z
      .record(z.string().regex(ETYPE, { error: ETYPE_ERROR }), text(0, 255), {
        error: 'must be a map from content types to pass, keep or a text',
      })
      .default({}),
  });
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
    titlesFrom: list(choice(['metapush', 'encoder', 'upstream']), 0, 3)
      .refine((tellers) => new Set(tellers).size === tellers.length, { error: 'must name nobody twice' })
      .default(['metapush', 'encoder', 'upstream']),
    icy: icySchema().prefault({}),
    holdSeconds: seconds(0, 86_400).optional(),
    fallback: section({
      artist: text(0, 255).default(''),
      song: text(0, 255).default(''),
      graceSeconds: seconds(0, 3600).default(5),
      whenSourceLost: flag().default(false),
    }).optional(),
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
