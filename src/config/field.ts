/**
 * The kinds of value that options have: numbers with bounds, texts, keys, mounts, hosts. Each says in one sentence what it must
 * be; load.ts puts the place before it. No sentence ever repeats the value, since the value may be a secret in the wrong place.
 */

import { accessSync, constants, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { isCharset } from '../base/charset.js';
import { KEY } from '../base/key.js';
import { meant } from '../base/spelling.js';

const SEGMENT = '/(?!\\.{1,2}(?:/|$))[A-Za-z0-9._~;-]+';
/** The URL path of a mount: segments, none of them `.` or `..`, which clients would take out of a URL. */
export const MOUNT = new RegExp(`^(?!.*\\.\\.)(?=.{2,255}$)(?:${SEGMENT})+/?$`);
const HOST_LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const HOST = new RegExp(`^(?=.{1,253}$)${HOST_LABEL}(?:\\.${HOST_LABEL})*$`);
/** No option's text holds one. */
export const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

export const whole = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};

/** Seconds; fractions are allowed. */
export const seconds = (min: number, max: number) => {
  const error = `must be a number of seconds from ${min} to ${max}`;
  return z.number({ error }).min(min, { error }).max(max, { error });
};

/** One line of text: no control characters, since most texts end up in response headers. Lengths in characters. */
export const text = (min: number, max: number) => {
  const error = `must be text of ${min} to ${max} characters on one line (in quotes when it looks like a number)`;
  return z
    .string({ error })
    .min(min, { error })
    .max(max, { error })
    .refine((value) => !CONTROL.test(value), { error });
};

export const flag = () => z.boolean({ error: 'must be true or false' });

export const choice = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: `must be one of: ${values.map((value) => value || '""').join(', ')}` });

/**
 * `when` of a rule between members: it is checked although other members are wrong, so that all problems are reported at once. The members
 * it compares may then be of any type: write it so that it fails only for two numbers that do not fit.
 */
export const onAnyMap = ({ value }: { readonly value: unknown }): boolean =>
  typeof value === 'object' && value !== null;

/** A map with exactly these members; any other is refused: of several the error has a line each, in their order. */
export const section = <T extends z.core.$ZodLooseShape>(shape: T) =>
  z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return 'must be a map of options';
      return issue.keys.map((key) => `is not an option${meant(key, Object.keys(shape))}`).join('\n');
    },
  });

export const list = <T extends z.ZodType>(item: T, min: number, max: number) => {
  const error = `must be a list of ${min} to ${max} items`;
  return z.array(item, { error }).min(min, { error }).max(max, { error });
};

export const keyed = <T extends z.ZodType>(value: T) =>
  z.record(z.string().regex(KEY, { error: 'a key is 1 to 64 of the characters A-Z a-z 0-9 _ -' }), value, {
    error: 'must be a map from keys to options',
  });

/** Of a channel of the configuration (checks.ts). */
export const channelKey = () =>
  z.string({ error: 'must be the key of a channel' }).regex(KEY, { error: 'must be the key of a channel' });

export const mount = () => {
  const error = 'must be a path such as /live.mp3: /, then A-Z a-z 0-9 . _ ~ ; - and /, without .. or //';
  return z.string({ error }).regex(MOUNT, { error });
};

export const host = () => {
  const error = 'must be an IP address (IPv6 without brackets) or a host name';
  return z.string({ error }).refine((value) => isIP(value) !== 0 || HOST.test(value), { error });
};

/** An address or a network of them, as 192.0.2.1 or 2001:db8::/32. */
export const network = () => {
  const error = 'must be an IP address or a network such as 192.0.2.0/24 or 2001:db8::/32';
  return z.string({ error }).refine(isNetwork, { error });
};

export function isNetwork(value: string): boolean {
  const [, address = '', bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(value) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(bits ?? 0) <= (version === 4 ? 32 : 128);
}

export const charset = () => {
  const error = 'must be a charset such as windows-1251, koi8-r, shift_jis, gbk';
  return z.string({ error }).refine(isCharset, { error });
};

/** A name of the IANA time zone database. */
export const timezone = () => {
  const error = 'must be an IANA time zone such as Europe/Berlin';
  return z.string({ error }).refine(isTimezone, { error });
};

function isTimezone(name: string): boolean {
  // Newer engines take offsets such as +01:00 too; those have no daylight saving, which is what the option is for.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The name of a parameter whose value goes into no log (base/secret-mask.ts). */
export const secretName = () => {
  const error =
    'must be 1 to 64 of the characters A-Z a-z 0-9 _ . ~ -, with a * before or after them for anything there';
  return z.string({ error }).regex(/^\*?[\w.~-]{1,64}\*?$/, { error });
};

/** A day as `2024-01-31`, which stands for its first moment in UTC. */
export const date = () => {
  const error = 'must be a day such as 2024-01-31';
  return z.iso.date({ error });
};

/** An http or https URL without a user and password: those would be a secret in plain text, and nothing would send them. */
export const webUrl = () => {
  const error = 'must be an http:// or https:// URL of at most 4096 characters, without user and password';
  return z.string({ error }).refine(isWebUrl, { error });
};

function isWebUrl(value: string): boolean {
  if (value.length > 4096 || CONTROL.test(value) || !URL.canParse(value)) return false;
  const url = new URL(value);
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

/** A path that need not exist; relative to `folder`, the result is absolute. @param asItIs texts that stay as they are */
export const pathFrom = (folder: string, min: number, asItIs: readonly string[] = []) =>
  text(min, 4096).transform((path) => (asItIs.includes(path) ? path : resolve(folder, path)));

/** A file that exists and can be read; relative to `folder`, the result is absolute. */
export const readableFile = (folder: string) =>
  text(1, 4096).transform((path, context) => {
    const absolute = resolve(folder, path);
    try {
      accessSync(absolute, constants.R_OK);
      if (statSync(absolute).isFile()) return absolute;
    } catch {
      // The sentence below covers every call that may fail.
    }
    context.addIssue({ code: 'custom', message: `must be a file that can be read (relative to ${folder})` });
    return z.NEVER;
  });
