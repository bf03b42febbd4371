/**
 * Push tokens and encoder passwords. The configuration names a secret as `sha256:<64 hex>` or `env:NAME`, or uses one of the
 * demo's own words; what is kept is its SHA-256. The plain text is dropped at once and stands in no error: a rejected secret is
 * named by its place only.
 */

import { createHash, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

export interface Secret {
  /** SHA-256 of the secret's UTF-8 bytes: 32 bytes. */
  readonly sha256: Buffer;
  /** The word of config/demo.yaml that it is, which anyone can read; null: none of them. */
  readonly demo: string | null;
}

const DEMO_WORDS = ['demo-token', 'studio-token', 'relay-token', 'demo-source'];
const DEMO_DIGESTS = DEMO_WORDS.map(digest);
/** What `printf %s "$UNSET" | sha256sum` prints: anyone could send that token. */
const EMPTY_DIGEST = digest('');
const HASHED = /^sha256:([0-9a-f]{64})$/i;
const FROM_ENVIRONMENT = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;

function digest(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

/**
 * Reads a secret as the configuration writes it, or says what is wrong with it (never with its text).
 * A variable may hold the secret itself or its `sha256:` form, so that the plain text need not lie on the server.
 * @param judge what is wrong with a secret that is known in the clear; null: nothing
 */
export function parseSecret(
  text: string,
  env: NodeJS.ProcessEnv,
  judge: (plain: string) => string | null = () => null,
): Secret | { readonly problem: string } {
  const variable = FROM_ENVIRONMENT.exec(text)?.[1];
  const value = variable === undefined ? text : (env[variable] ?? '');
  const hashed = HASHED.exec(value)?.[1];
  if (hashed === undefined && variable === undefined && !DEMO_WORDS.includes(text)) {
    return { problem: 'must be sha256: and 64 hexadecimal digits, or env: and the name of an environment variable' };
  }
  if (value === '') return { problem: `names ${named(variable!)} that is unset or empty` };
  const problem = hashed === undefined ? judge(value) : null;
  if (problem !== null) return { problem };
  const sha256 = hashed === undefined ? digest(value) : Buffer.from(hashed, 'hex');
  if (sha256.equals(EMPTY_DIGEST)) return { problem: 'is the digest of an empty text' };
  return { sha256, demo: DEMO_WORDS.find((_, i) => DEMO_DIGESTS[i]!.equals(sha256)) ?? null };
}

/** What does not look like the name of a variable may be the secret itself. */
function named(variable: string): string {
  return /^[A-Z_][A-Z0-9_]*$/.test(variable) ? `the environment variable ${variable}, one` : 'an environment variable';
}

/** The zod type of a secret: text in, Secret out. */
export function secretSchema(env: NodeJS.ProcessEnv, judge?: (plain: string) => string | null) {
  return z.string({ error: 'must be text: env:NAME or sha256:<64 hexadecimal digits>' }).transform((text, context) => {
    const secret = parseSecret(text, env, judge);
    if (!('problem' in secret)) return secret;
    context.addIssue({ code: 'custom', message: secret.problem });
    return z.NEVER;
  });
}

/** What the front takes for a request (net/front/first-bytes.ts), and the SHOUTcast acceptor too (http/ingest/shoutcast-password.ts). */
const METHODS = /^(GET|HEAD|POST|PUT|SOURCE|OPTIONS|DELETE|PATCH|TRACE|CONNECT) /;
const REQUEST = /^[A-Za-z]{1,20} .*\/\d\.\d$/;
const PROXIED = /^PROXY (TCP[46] |UNKNOWN)/;
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * Why a SHOUTcast encoder could not log in with this password or user: it sends them on one line without a name for each
 * (src/http/ingest/README.md). Null: it could.
 */
export function misread(text: string): string | null {
  if (text.includes(':')) return 'must not hold a colon: encoders write user:password';
  if (/^[/!]/.test(text)) return 'must not begin with / or !: encoders write /mount:password and !POKE';
  if (METHODS.test(text) || REQUEST.test(text)) return 'must not look like the first line of an HTTP request';
  if (PROXIED.test(text)) return 'must not look like the first line of the PROXY protocol';
  return CONTROL.test(text) ? 'must not hold control characters or a line end' : null;
}

/** The zod type of an encoder's password. */
export function passwordSchema(env: NodeJS.ProcessEnv) {
  return secretSchema(env, misread);
}

/** Shorter ones could be guessed from one signed URL, at leisure. */
const MIN_KEY_CHARACTERS = 32;

/** The zod type of a key that signs: it has to be known itself, so only the environment may hold it. Out comes a KeyObject, which shows nothing. */
export function signingKeySchema(env: NodeJS.ProcessEnv) {
  const error = `must be env: and the name of an environment variable with at least ${MIN_KEY_CHARACTERS} characters`;
  return z.string({ error }).transform((text, context) => {
    const value = env[FROM_ENVIRONMENT.exec(text)?.[1] ?? ''] ?? '';
    if (value.length >= MIN_KEY_CHARACTERS) return createSecretKey(value, 'utf8');
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

/** 256 random bits that no text is known to hash to. */
const UNKNOWN_SECRET: Secret = { sha256: randomBytes(32), demo: null };
/** A channel has at most this many push tokens. */
const COMPARED = 2;

/**
 * Whether `given` (plain text from a stranger, or its SHA-256 where one text is compared with many) is one of the secrets. Takes the
 * same time whichever it equals, if any, and however few there are: digests are compared in constant time, always all of them, and
 * never fewer than two. No secrets: false.
 */
export function secretMatches(secrets: readonly Secret[], given: string | Buffer): boolean {
  const sha256 = typeof given === 'string' ? digest(given) : given;
  let matches = false;
  for (let i = 0; i < Math.max(COMPARED, secrets.length); i++) {
    matches = timingSafeEqual((secrets[i] ?? UNKNOWN_SECRET).sha256, sha256) || matches;
  }
  return matches;
}
