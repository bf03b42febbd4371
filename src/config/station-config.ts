/**
 * Stations, channels and their sources: the part of the configuration that an operator writes by hand.
 * Every default is in the literal here or in schema.ts. Rules that span several members are in checks.ts.
 */

import * as z from 'zod';
import { WINDOWS } from '../base/charset.js';
import { ACCESS, encoderHookSchema } from './access-config.js';
import { coversSchema } from './covers-config.js';
import { charset, choice, flag, keyed, list, mount, seconds, section, text, timezone, webUrl, whole } from './field.js';
import { channelHlsSchema } from './hls-config.js';
import { streamInfoSchema } from './listed/stream-info-config.js';
import { picture } from './page-config.js';
import { MAX_HOLD_SECONDS } from './push-limits.js';
import { misread, passwordSchema, secretSchema } from './secret.js';
import { fileSchema } from './sources/file-config.js';
import { pullSchema } from './sources/pull-config.js';
import { titleWebhookSchema } from './title-webhooks-config.js';

export interface ConfigContext {
  readonly env: NodeJS.ProcessEnv;
  /** The folder of the configuration file, absolute: paths are relative to it. */
  readonly folder: string;
  /** Why a file of this absolute path cannot be played; null: it can. Absent: not checked. */
  readonly audioProblem?: ((path: string) => string | null) | undefined;
}

/** Milliseconds between a title and its audio. */
const titleOffset = () => whole(-60_000, 60_000);

function sourceSchema({ env, folder, audioProblem }: ConfigContext) {
  const encoder = section({
    type: z.literal('encoder'),
    user: text(1, 255)
      .superRefine((user, context) => {
        const message = misread(user);
        if (message !== null) context.addIssue({ code: 'custom', message });
      })
      .default('source'),
    // Absent: the hook decides who may send (checks.ts).
    password: passwordSchema(env).optional(),
    hook: flag().default(true),
    takeover: choice(['silent', 'always', 'never']).default('silent'),
    lingerSeconds: seconds(0, 3600).default(0),
    titlesWhileAway: flag().default(false),
    charset: charset().optional(),
    titleOffsetMs: titleOffset().optional(),
  });
  const file = fileSchema(folder, audioProblem).safeExtend({ titleOffsetMs: titleOffset().optional() });
  const pull = pullSchema({ env, folder }).extend({
    charset: charset().optional(),
    titleOffsetMs: titleOffset().optional(),
  });
  return z.discriminatedUnion('type', [encoder, file, pull], { error: unionProblem });
}

// zod calls the same function for a source that is not a map, and for an unknown type.
function unionProblem(issue: { readonly code?: string }): string {
  return issue.code === 'invalid_union' ? 'must be one of: encoder, file, pull' : 'must be a map of options';
}

/** Keys of icy.etypes: a word of metadata/icy.ts, or an id of the specification. */
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
    inOgg: flag().default(false),
  });
}

function channelSchema(context: ConfigContext) {
  return section({
    name: text(0, 255).default(''),
    genre: text(0, 255).default(''),
    url: z.union([z.literal(''), webUrl()], { error: 'must be an http:// or https:// URL, or ""' }).default(''),
    description: text(0, 1024).default(''),
    logo: picture(context.folder).optional(),
    public: flag().optional(),
    mounts: list(mount(), 0, 32).default([]),
    metaint: whole(256, 65_535).optional(),
    bitrateKbps: whole(8, 2000).optional(),
    maxListeners: whole(1, 1_000_000).optional(),
    maxListenSeconds: seconds(1, 604_800).optional(),
    overflowUrl: webUrl().optional(),
    access: choice(ACCESS).default('open'),
    encoderHook: encoderHookSchema().optional(),
    pushTokens: list(secretSchema(context.env), 0, 2).default([]),
    titlesFrom: list(choice(['metapush', 'encoder', 'upstream']), 0, 3)
      .refine((origins) => new Set(origins).size === origins.length, { error: 'must not have duplicates' })
      .default(['metapush', 'encoder', 'upstream']),
    pushDecodesEntities: flag().default(false),
    charset: charset().default(WINDOWS),
    icy: icySchema().prefault({}),
    hls: channelHlsSchema().optional(),
    delaySeconds: seconds(0, 60).default(0),
    partTime: flag().default(false),
    noTitlesMinutes: whole(0, 10_080).optional(),
    titleOffsetMs: titleOffset().default(0),
    holdSeconds: seconds(0, MAX_HOLD_SECONDS).optional(),
    fallback: section({
      artist: text(0, 255).default(''),
      song: text(0, 255).default(''),
      graceSeconds: seconds(0, 3600).default(5),
      whenSourceLost: flag().default(false),
    }).optional(),
    webhooks: list(titleWebhookSchema(context.env), 0, 16).default([]),
    firstTitle: firstTitleSchema().optional(),
    covers: coversSchema(context.folder).optional(),
    streamInfo: streamInfoSchema().optional(),
    sources: list(sourceSchema(context), 1, 16),
  });
}

function firstTitleSchema() {
  const error = 'must be channel, last, nothing, or a map of artist and song';
  const words = section({ artist: text(0, 255).default(''), song: text(0, 255).default('') });
  return z.union([z.enum(['channel', 'last', 'nothing']), words], { error });
}

export function stationSchema(context: ConfigContext) {
  return section({
    name: text(0, 255).default(''),
    timezone: timezone().default('UTC'),
    encoderHook: encoderHookSchema().optional(),
    channels: keyed(channelSchema(context)),
  });
}
