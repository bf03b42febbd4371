/**
 * Mounts in another program's file, and the channels made from them: each mount is a channel, with a new key if the mount's path is not a valid one;
 * fallback mounts are its later sources.
 */

import { KEY } from '../base/key.js';
import { CONTROL, MOUNT, webUrl } from '../config/field.js';
import { isReserved } from '../config/reserved.js';
import { misread } from '../config/secret.js';
import { keyFrom } from './answers.js';
import { type ChannelLogin, type Comment, type DraftOptions, type Option, VARIABLE_START } from './draft.js';
import { makePassword, makeToken, secretOf } from './made-secret.js';

export interface ImportedMount {
  /** The mount's path. */
  readonly mount: string;
  /** Null: no encoder feeds it. */
  readonly encoder: { readonly user: string; readonly password: string } | null;
  /** Streams that are pulled, in order. */
  readonly pulls: readonly DraftOptions[];
  /** Options of the channel other than its sources. */
  readonly options: DraftOptions;
  /** What it plays without a source: another mount, an existing file, or a pulled stream. */
  readonly fallback:
    | { readonly mount: string }
    | { readonly file: string }
    | { readonly pull: DraftOptions; readonly text: string }
    | null;
}

export interface ImportedChannels {
  /** By key. */
  readonly channels: DraftOptions;
  readonly keys: ReadonlyMap<string, string>;
  readonly logins: readonly ChannelLogin[];
  /** Their paths begin at `channels`. */
  readonly comments: readonly Comment[];
}

/** Maximum in one file: more than any server has. */
const MAX_MOUNTS = 1000;
/** The maximum of a channel in a configuration. */
const MAX_SOURCES = 16;

/** Passwords of examples, which attackers try first. */
const KNOWN_PASSWORDS = new Set(['hackme', 'hackmemore', 'changeme', 'password', 'source', 'secret', 'admin']);

/** Why a mount's path is not allowed here; null: it is. */
export function mountProblem(mount: string): string | null {
  if (!MOUNT.test(mount)) return 'is not valid as a mount here (/, then A-Z a-z 0-9 . _ ~ ; - and /)';
  return isReserved(mount.split('/')[1]!) ? 'is a path that this server uses itself' : null;
}

/** A text made valid for an option: one line, at most `most` characters, no variables. */
export function plainText(text: string, most: number): string {
  const line = text
    .replace(/\s+/g, ' ')
    .split('')
    .filter((letter) => !CONTROL.test(letter))
    .join('');
  return line.replaceAll(VARIABLE_START, '$ {').trim().slice(0, most);
}

/** A URL that is valid for an option; '': it is not. */
export function plainUrl(text: string): string {
  return webUrl().safeParse(text).success && !text.includes(VARIABLE_START) ? text : '';
}

/** @param self URL for pulls from this server itself, such as `http://127.0.0.1:8000` @param lose called with a sentence about a loss */
export function importedChannels(
  mounts: readonly ImportedMount[],
  self: string,
  lose: (sentence: string) => void,
): ImportedChannels {
  if (mounts.length > MAX_MOUNTS) throw new Error(`it has ${mounts.length} mounts: ${MAX_MOUNTS} can be read`);
  const byMount = new Map(mounts.map((each) => [each.mount, each]));
  const keys = keysOf([...byMount.keys()]);
  const comments: Comment[] = [];
  const made = [...byMount.values()].map((each) => {
    const key = keys.get(each.mount)!;
    const token = makeToken();
    const password = each.encoder === null ? null : passwordOf(each.mount, each.encoder.password, lose);
    const encoder: Option[] =
      password === null ? [] : [{ type: 'encoder', user: each.encoder!.user, password: password.option }];
    const chain = fallbacks(each, byMount, self, lose);
    const own = [...each.pulls, ...encoder];
    const sources = [...own, ...chain];
    const text = each.fallback !== null && 'text' in each.fallback ? each.fallback.text : 'The fallback mount.';
    if (chain.length > 0) comments.push({ path: [key, 'sources', own.length], text });
    const listed = `/${key}` === each.mount ? {} : { mounts: [each.mount] };
    const options: DraftOptions = { ...each.options, ...listed, pushTokens: [token.option], sources };
    const login: ChannelLogin = {
      key,
      mount: each.mount,
      token: token.plain,
      encoder: password === null ? null : { user: each.encoder!.user, password: password.made },
    };
    return { key, options, login };
  });
  return {
    channels: Object.fromEntries(made.map(({ key, options }) => [key, options])),
    keys,
    logins: made.map(({ login }) => login),
    comments,
  };
}

/** The password from the file, or a new one if there is none. */
function passwordOf(mount: string, plain: string, lose: (sentence: string) => void) {
  if (plain === '') {
    lose(`${mount}: the file has no password for encoders; one was created`);
    const made = makePassword();
    return { option: made.option, made: made.plain };
  }
  if (KNOWN_PASSWORDS.has(plain)) lose(`${mount}: its password comes from a public example: change it`);
  const problem = misread(plain);
  if (problem !== null) lose(`${mount}: its password ${problem}; SHOUTcast encoders cannot use it`);
  return { option: secretOf(plain).option, made: null };
}

/** Mount → key: `/live` has the key live, and so has `/live.mp3` if no other mount has that. */
function keysOf(mounts: readonly string[]): Map<string, string> {
  const keys = new Map<string, string>();
  const taken = new Set(mounts);
  const free = (key: string): boolean => KEY.test(key) && !isReserved(key) && !taken.has(`/${key}`);
  for (const mount of mounts) {
    const exact = mount.slice(1);
    const bare = exact.replace(/\.\w{2,4}$/, '');
    const flat = keyFrom(exact) || 'channel';
    const key = KEY.test(exact) ? exact : ([bare, flat].find(free) ?? numbered(flat, free));
    taken.add(`/${key}`);
    keys.set(mount, key);
  }
  return keys;
}

/** The key with the least number from 2 on that is free. */
export function numbered(key: string, free: (key: string) => boolean): string {
  for (let number = 2; ; number++) {
    const next = `${key.slice(0, 58)}-${number}`;
    if (free(next)) return next;
  }
}

/** The later sources of a channel. A fallback mount with an encoder is pulled from this server, and so includes its own fallback. */
function fallbacks(
  from: ImportedMount,
  byMount: ReadonlyMap<string, ImportedMount>,
  self: string,
  lose: (sentence: string) => void,
): Option[] {
  const sources: Option[] = [];
  const seen = new Set([from.mount]);
  for (let at = from; at.fallback !== null; ) {
    if (seen.size >= MAX_SOURCES) {
      lose(`${from.mount}: its fallbacks continue for more than ${MAX_SOURCES} mounts`);
      return sources;
    }
    if ('file' in at.fallback) return [...sources, { type: 'file', path: at.fallback.file }];
    if ('pull' in at.fallback) return [...sources, at.fallback.pull];
    const next = byMount.get(at.fallback.mount);
    if (next === undefined) return sources;
    if (seen.has(next.mount) || leadsTo(next, from.mount, byMount)) {
      lose(`${from.mount}: its fallback ${next.mount} leads back to it`);
      return sources;
    }
    seen.add(next.mount);
    if (next.encoder !== null) return [...sources, { type: 'pull', url: `${self}${next.mount}`, onDemand: true }];
    sources.push(...next.pulls);
    at = next;
  }
  return sources;
}

function leadsTo(from: ImportedMount, mount: string, byMount: ReadonlyMap<string, ImportedMount>): boolean {
  const seen = new Set<string>();
  for (let at: ImportedMount | undefined = from; at !== undefined && !seen.has(at.mount); ) {
    if (at.mount === mount) return true;
    seen.add(at.mount);
    at = at.fallback !== null && 'mount' in at.fallback ? byMount.get(at.fallback.mount) : undefined;
  }
  return false;
}
