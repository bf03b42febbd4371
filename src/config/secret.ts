/**
 * Push tokens, encoder passwords and signing keys. The configuration has a secret as `sha256:<64 hex>`, `env:NAME`, or one of the demo's
 * words; only its SHA-256 is kept. The plain text is dropped at once, and no error contains it.
 */

import { createHash, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { fromEnvironment, parsed, variableIn } from './field.js';

export interface Secret {
  /** SHA-256 of the secret's UTF-8 bytes: 32 bytes. */
  readonly sha256: Buffer;
  /** The word of config/demo.yaml, which anyone can read; null: it is none. */
  readonly demo: string | null;
}

const DEMO_WORDS = ['demo-token', 'studio-token', 'relay-token', 'demo-source'];
const DEMO_DIGESTS = DEMO_WORDS.map(digest);
/** Printed by `printf %s "$UNSET" | sha256sum`: anyone could send that token. */
const EMPTY_DIGEST = digest('');
const HASHED = /^sha256:([0-9a-f]{64})$/i;

function digest(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

/**
 * Parses a secret of the configuration, or returns its problem (never with its text).
 * A variable may hold the secret itself or its `sha256:` form, so that the plain text need not be on the server.
 * @param judge returns the problem of a plain-text secret; null: none
 */
export function parseSecret(
  text: string,
  env: NodeJS.ProcessEnv,
  judge: (plain: string) => string | null = () => null,
): Secret | { readonly problem: string } {
  const variable = variableIn(text);
  const value = variable === undefined ? text : (env[variable] ?? '');
  const hashed = HASHED.exec(value)?.[1];
  if (hashed === undefined && variable === undefined && !DEMO_WORDS.includes(text)) {
    return { problem: 'must be sha256: and 64 hexadecimal digits, or env: and the name of an environment variable' };
  }
  if (value === '') return { problem: `${named(variable!)} is not set` };
  const problem = hashed === undefined ? judge(value) : null;
  if (problem !== null) return { problem };
  const sha256 = hashed === undefined ? digest(value) : Buffer.from(hashed, 'hex');
  if (sha256.equals(EMPTY_DIGEST)) return { problem: 'is the digest of an empty text' };
  return { sha256, demo: DEMO_WORDS.find((_, i) => DEMO_DIGESTS[i]!.equals(sha256)) ?? null };
}

/** Names a variable in an error. Text that does not look like a name is left out: it may be the secret itself. */
function named(variable: string): string {
  return /^[A-Z_][A-Z0-9_]*$/.test(variable) ? variable : 'the environment variable named here';
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

/** Lines that the front (net/front/first-bytes.ts) and the SHOUTcast acceptor (http/ingest/shoutcast-password.ts) take for a request. */
const METHODS = /^(GET|HEAD|POST|PUT|SOURCE|OPTIONS|DELETE|PATCH|TRACE|CONNECT) /;
const REQUEST = /^[A-Za-z]{1,20} .*\/\d\.\d$/;
const PROXIED = /^PROXY (TCP[46] |UNKNOWN)/;
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * Why a SHOUTcast encoder, which sends its password as a bare line (src/http/ingest/README.md), could not log in with this password or user;
 * null: it could.
 */
export function misread(text: string): string | null {
  if (text.includes(':')) return 'must not contain a colon: encoders write user:password';
  if (/^[/!]/.test(text)) return 'must not begin with / or !: encoders write /mount:password and !POKE';
  if (METHODS.test(text) || REQUEST.test(text)) return 'must not look like the first line of an HTTP request';
  if (PROXIED.test(text)) return 'must not look like the first line of the PROXY protocol';
  return CONTROL.test(text) ? 'must not contain control characters or line breaks' : null;
}

/** The zod type of an encoder's password. */
export function passwordSchema(env: NodeJS.ProcessEnv) {
  return secretSchema(env, misread);
}

/** Shorter keys could be guessed offline from a signed URL. */
const MIN_KEY_CHARACTERS = 32;

/** The zod type of a signing key, only from the environment: text in, a KeyObject out, which does not print the key. */
export function signingKeySchema(env: NodeJS.ProcessEnv) {
  const error = `must be env: and the name of an environment variable with at least ${MIN_KEY_CHARACTERS} characters`;
  return parsed(error, (text) => {
    const value = fromEnvironment(text, env) ?? '';
    return value.length >= MIN_KEY_CHARACTERS ? createSecretKey(value, 'utf8') : undefined;
  });
}

/** A random digest, to which no known text hashes. */
const UNKNOWN_SECRET: Secret = { sha256: randomBytes(32), demo: null };
/** The maximum number of push tokens of a channel. */
const COMPARED = 2;

/**
 * Whether `given` (a client's plain text, or its SHA-256) is one of the secrets. The time depends neither on which one it equals nor on whether
 * there are 0, 1 or 2: all digests are compared, at least two, each in constant time.
 */
export function secretMatches(secrets: readonly Secret[], given: string | Buffer): boolean {
  const sha256 = typeof given === 'string' ? digest(given) : given;
  let matches = false;
  for (let i = 0; i < Math.max(COMPARED, secrets.length); i++) {
    matches = timingSafeEqual((secrets[i] ?? UNKNOWN_SECRET).sha256, sha256) || matches;
  }
  return matches;
}
