/**
 * The types of options: numbers with bounds, texts, keys, mounts, hosts. The error of each says in one sentence what it must be;
 * load.ts adds the place. No error quotes the value, which may be a misplaced secret.
 */

import { accessSync, constants, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import * as z from 'zod';
import { isCharset } from '../base/charset.js';
import { KEY } from '../base/key.js';
import { meant } from '../base/spelling.js';
import { type NumberRange, numberRange } from './number-range.js';

const SEGMENT = '/(?!\\.{1,2}(?:/|$))[A-Za-z0-9._~;-]+';
/** The URL path of a mount, without the segments `.` and `..`, which clients would remove. */
export const MOUNT = new RegExp(`^(?!.*\\.\\.)(?=.{2,255}$)(?:${SEGMENT})+/?$`);
const HOST_LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const HOST = new RegExp(`^(?=.{1,253}$)${HOST_LABEL}(?:\\.${HOST_LABEL})*$`);
/** Not allowed in the text of any option: control characters, and lone surrogates, which no URL can express. */
export const CONTROL = /[\u0000-\u001f\u007f-\u009f]|\p{Surrogate}/u;

export const whole = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};

/** Seconds; fractions are allowed. */
export const seconds = (min: number, max: number) => {
  const error = `must be a number of seconds from ${min} to ${max}`;
  return z.number({ error }).min(min, { error }).max(max, { error });
};

/** One line of text without control characters, since most texts become response headers. Lengths in characters. */
export const text = (min: number, max: number) => {
  const error = `must be text of ${min} to ${max} characters on one line (quoted if it looks like a number)`;
  return z
    .string({ error })
    .min(min, { error })
    .max(max, { error })
    .refine((value) => !CONTROL.test(value), { error });
};

export const flag = () => z.boolean({ error: 'must be true or false' });

export const choice = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: `must be one of: ${values.map((value) => value || '""').join(', ')}` });

/** A text with a check by code. */
export const checked = (error: string, test: (text: string) => boolean) => z.string({ error }).refine(test, { error });

/** A text from which `parse` makes a value; if that returns undefined, the text is refused. */
export const parsed = <T>(error: string, parse: (text: string) => T | undefined) =>
  z.string({ error }).transform((text, context): T => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });

/** The name in `env:NAME`; undefined: the text has another form. */
export function variableIn(text: string): string | undefined {
  return /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(text)?.[1];
}

/** The value of the variable in `env:NAME`; undefined: another form, or not set. */
export function fromEnvironment(text: string, env: NodeJS.ProcessEnv): string | undefined {
  return env[variableIn(text) ?? ''];
}

/** `when` of a rule between two numbers: checked even if members are invalid, so that all problems are reported. It must ignore other types. */
export const onAnyMap = ({ value }: { readonly value: unknown }): boolean =>
  typeof value === 'object' && value !== null;

/** A map with exactly these members; the error has a line for each other member, in their order. */
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

/** The key of a configured channel; checks.ts requires that it exists. */
export const channelKey = () =>
  z.string({ error: 'must be the key of a channel' }).regex(KEY, { error: 'must be the key of a channel' });

export const mount = () => {
  const error = 'must be a path such as /live.mp3: /, then A-Z a-z 0-9 . _ ~ ; - and /, without .. or //';
  return z.string({ error }).regex(MOUNT, { error });
};

export const host = () =>
  checked(
    'must be an IP address (IPv6 without brackets) or a host name',
    (value) => isIP(value) !== 0 || HOST.test(value),
  );

/** An IP address or a network, such as 192.0.2.1 or 2001:db8::/32. */
export const network = () =>
  checked('must be an IP address or a network such as 192.0.2.0/24 or 2001:db8::/32', isNetwork);

export function isNetwork(value: string): boolean {
  const [, address = '', bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(value) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(bits ?? 0) <= (version === 4 ? 32 : 128);
}

export const charset = () => checked('must be a charset such as windows-1251, koi8-r, shift_jis, gbk', isCharset);

/** A name of the IANA time zone database. */
export const timezone = () => checked('must be an IANA time zone such as Europe/Berlin', isTimezone);

/** Whether this process knows the zone. Not cached, since clients may name any. */
export function isTimezone(name: string): boolean {
  // Newer engines accept offsets such as +01:00 too, which have no daylight saving time.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The name of a parameter whose value is masked in logs (base/secret-mask.ts). */
export const secretName = () => {
  const error = 'must be 1 to 64 of the characters A-Z a-z 0-9 _ . ~ -, with * before or after them as a wildcard';
  return z.string({ error }).regex(/^\*?[\w.~-]{1,64}\*?$/, { error });
};

/** A day such as `2024-01-31`; the result is its start in UTC. */
export const date = () => {
  const error = 'must be a day such as 2024-01-31';
  return z.iso.date({ error });
};

/** An http or https URL without a user and password, which would be a secret in plain text. */
export const webUrl = () =>
  checked('must be an http:// or https:// URL of at most 4096 characters, without user and password', isWebUrl);

/** The first and the longest pause between tries. */
export const retrySeconds = (max: number) => minMaxSeconds(0.05, 3600, 1, max);

/** The bounds of a time. @param least and most: the limits of both @param min and max: their defaults */
export const minMaxSeconds = (least: number, most: number, min: number, max: number) =>
  section({ min: seconds(least, most).default(min), max: seconds(least, most).default(max) })
    .refine((bounds) => !(bounds.min > bounds.max), {
      path: ['max'],
      error: 'must not be less than min',
      when: onAnyMap,
    })
    .prefault({});

function isWebUrl(value: string): boolean {
  if (value.length > 4096 || CONTROL.test(value) || !URL.canParse(value)) return false;
  const url = new URL(value);
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

/** A path that need not exist, relative to `folder`; the result is absolute. @param asItIs texts that are not paths */
export const pathFrom = (folder: string, min: number, asItIs: readonly string[] = []) =>
  text(min, 4096).transform((path) => (asItIs.includes(path) ? path : resolve(folder, path)));

/** A readable file, relative to `folder`; the result is absolute. */
export const readableFile = (folder: string) => readable(folder, 'a file', (path) => statSync(path).isFile());

const readable = (folder: string, what: string, isIt: (path: string) => boolean) =>
  text(1, 4096).transform((path, context) => {
    const absolute = resolve(folder, path);
    try {
      accessSync(absolute, constants.R_OK);
      if (isIt(absolute)) return absolute;
    } catch {
      // Reported below, whichever call failed.
    }
    context.addIssue({ code: 'custom', message: `must be ${what} that can be read (relative to ${folder})` });
    return z.NEVER;
  });

/** The largest id of a content type. */
const MAX_ETYPE = 1008;

/** An id or a range of ids of content types: `103`, or `1001-1008`. */
export function etypeRange() {
  const error = `must be a whole number from 0 to ${MAX_ETYPE}, or a range such as 1001-1008`;
  return z
    .union([whole(0, MAX_ETYPE), z.string().regex(/^\d{1,4}-\d{1,4}$/, { error })], { error })
    .transform((value, context): NumberRange => {
      const range = numberRange(String(value));
      if (range !== undefined && range.to <= MAX_ETYPE) return range;
      context.addIssue({ code: 'custom', message: error });
      return z.NEVER;
    });
}

/** A folder that can be read, relative to `folder`; the result is absolute. */
export const readableFolder = (folder: string) => readable(folder, 'a folder', (path) => statSync(path).isDirectory());
