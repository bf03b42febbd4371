/**
 * Options of `webhooks` of a channel: the receivers of its titles, and the formats. The options are explained in config/example.yaml, the formats in
 * src/webhooks/README.md.
 */

import * as z from 'zod';
import { webhookSecret } from './alerts-config.js';
import {
  CONTROL,
  checked,
  choice,
  etypeRange,
  fromEnvironment,
  list,
  parsed,
  retrySeconds,
  seconds,
  section,
  text,
  variableIn,
  webUrl,
  whole,
} from './field.js';
import { type Password, passwordSchema } from './sources/pull-config.js';

const TITLE_FORMATS = ['json', 'discord', 'mastodon', 'tunein', 'radiode', 'rds', 'custom'] as const;
export type TitleFormat = (typeof TITLE_FORMATS)[number];

/** Placeholders of a template (src/webhooks/rendered-title.ts). */
const TITLE_PLACES = [
  ...(['title', 'artist', 'song', 'album', 'cover', 'isrc', 'id', 'etype', 'duration', 'type'] as const),
  ...(['time', 'timestamp', 'channel', 'channelkey', 'station'] as const),
] as const;
export type TitlePlace = (typeof TITLE_PLACES)[number];

/** Services with one fixed URL. */
export const SERVICE_URLS: Readonly<Partial<Record<TitleFormat, string>>> = {
  tunein: 'https://air.radiotime.com/Playing.ashx',
  radiode: 'https://api.radio.de/info/v2/pushmetadata/playingsong',
};

/** Required parameters, by which services identify a station. */
const NEEDED: Readonly<Partial<Record<TitleFormat, readonly string[]>>> = {
  tunein: ['partnerId', 'partnerKey', 'id'],
  radiode: ['broadcast', 'apikey'],
};

/** Options that apply to these formats only. */
const ONLY_FOR: Readonly<Record<string, readonly TitleFormat[]>> = {
  secret: ['json', 'custom'],
  token: ['mastodon', 'custom'],
  parameters: ['tunein', 'radiode', 'custom'],
  text: ['discord', 'mastodon', 'rds'],
  method: ['custom'],
  body: ['custom'],
  contentType: ['custom'],
};

export function titleWebhookSchema(env: NodeJS.ProcessEnv) {
  return section({
    url: titleUrl().optional(),
    format: choice(TITLE_FORMATS).default('json'),
    secret: webhookSecret(env).optional(),
    token: tokenSchema(env).optional(),
    parameters: z
      .record(text(1, 64), parameterSchema(env), { error: 'must be a map from names to texts or env:NAME' })
      .refine((all) => Object.keys(all).length <= 32, { error: 'must have at most 32 parameters' })
      .optional(),
    text: template(1024).optional(),
    method: choice(['GET', 'POST']).optional(),
    body: bodyTemplate().optional(),
    contentType: checked('must be 1 to 255 printable ASCII characters', (value) =>
      /^[ -~]{1,255}$/.test(value),
    ).optional(),
    on: list(choice(['now', 'next']), 1, 2).default(['now']),
    // Absent: all.
    etypes: list(etypeRange(), 1, 16).optional(),
    dampSeconds: seconds(0, 3600).default(5),
    timeoutSeconds: seconds(0.05, 60).default(10),
    retrySeconds: retrySeconds(60),
    giveUpSeconds: seconds(0, 86_400).default(300),
    waiting: whole(1, 1000).default(10),
  }).superRefine((webhook, context) => {
    for (const [name, message] of problemsOf(webhook)) {
      context.addIssue({ code: 'custom', path: [name], message });
    }
  });
}

function problemsOf({ format, url, ...options }: Readonly<Record<string, unknown>> & { format: TitleFormat }) {
  const problems: [string, string][] = [];
  const isSocket = typeof url === 'string' && /^(?:tcp|udp):/.test(url);
  if (url === undefined && SERVICE_URLS[format] === undefined) problems.push(['url', 'is missing']);
  else if (url !== undefined && isSocket !== (format === 'rds')) {
    problems.push([
      'url',
      format === 'rds' ? 'must be tcp://host:port or udp://host:port' : 'is tcp:// or udp://, which needs format: rds',
    ]);
  }
  for (const [name, formats] of Object.entries(ONLY_FOR)) {
    if (options[name] !== undefined && !formats.includes(format)) {
      problems.push([name, `needs format: ${formats.join(' or ')}`]);
    }
  }
  const parameters = (options['parameters'] ?? {}) as Readonly<Record<string, unknown>>;
  const missing = (NEEDED[format] ?? []).filter((name) => parameters[name] === undefined);
  if (missing.length > 0) problems.push(['parameters', `must have ${missing.join(', ')}`]);
  for (const [name, texts] of Object.entries({ url: [url], parameters: Object.values(parameters) })) {
    const hasPlaces = texts.some((value) => typeof value === 'string' && placesOf(value).length > 0);
    if (hasPlaces && format !== 'custom')
      problems.push([name, 'has placeholders in braces, which are for format: custom']);
  }
  if (format === 'mastodon' && options['token'] === undefined) problems.push(['token', 'is missing']);
  if (options['body'] !== undefined && options['method'] === 'GET') problems.push(['body', 'needs method: POST']);
  return problems;
}

const URL_ERROR =
  'must be an http:// or https:// URL without user and password, with placeholders in braces only in its path and query, or tcp://host:port, udp://host:port';

/** A URL with placeholders in its path and query only. */
const titleUrl = () =>
  checked(URL_ERROR, (value) => {
    if (webUrl().safeParse(value).success) return !placesOf(value.replace(/^([a-z]+:\/\/[^/?#]*).*$/s, '$1')).length;
    return (
      value.length <= 300 &&
      /^(?:tcp|udp):\/\/(?:\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):[1-9]\d{0,4}$/.test(value) &&
      URL.canParse(value)
    );
  }).refine(hasKnownPlaces, { error: PLACES_ERROR });

const PLACES_ERROR = `may contain only these placeholders in braces: ${TITLE_PLACES.join(', ')}`;

const hasKnownPlaces = (value: string) => placesOf(value).every((name) => TITLE_PLACES.includes(name as TitlePlace));

const template = (characters: number) => text(1, characters).refine(hasKnownPlaces, { error: PLACES_ERROR });

const bodyTemplate = () =>
  checked('must be text of 1 to 16384 characters', (value) => value.length >= 1 && value.length <= 16_384).refine(
    hasKnownPlaces,
    { error: PLACES_ERROR },
  );

/** A token for a header: printable ASCII. */
function tokenSchema(env: NodeJS.ProcessEnv) {
  const error = 'must be env: and the name of an environment variable that contains only printable ASCII characters';
  return passwordSchema(env).refine((token) => /^[ -~]+$/.test(token.reveal()), { error });
}

/** A literal text, or a secret from the environment. */
function parameterSchema(env: NodeJS.ProcessEnv) {
  const error =
    'must be text of 1 to 1024 characters on one line, or env: and the name of an environment variable that is set';
  return parsed(error, (text): Password | string | undefined => {
    const isNamed = variableIn(text) !== undefined;
    const value = isNamed ? (fromEnvironment(text, env) ?? '') : text;
    if (value.length < 1 || value.length > 1024 || CONTROL.test(value)) return undefined;
    return isNamed ? { reveal: () => value } : value;
  }).refine((value) => typeof value !== 'string' || hasKnownPlaces(value), { error: PLACES_ERROR });
}

export type TitleWebhookConfig = z.output<ReturnType<typeof titleWebhookSchema>>;

/** A placeholder; any other brace is literal, as in JSON. */
const PLACE = /\{([a-z]{1,32})\}/g;

/** The names of the placeholders in a template, with repetitions. */
function placesOf(template: string): string[] {
  return [...template.matchAll(PLACE)].map(([, name]) => name!);
}

/** Fills in the placeholders of a checked template. @param written returns the value of a placeholder, already escaped */
export function fill(template: string, written: (name: TitlePlace) => string): string {
  return template.replace(PLACE, (_, name: string) => written(name as TitlePlace));
}
