/**
 * What another program's file says of mounts, and the channels made of them: each mount is a channel, with a key of its own where the mount's path is
 * none, and its fallback mounts are its later sources. Pure but for the look at files.
 */

import { KEY } from '../base/key.js';
import { CONTROL, MOUNT, webUrl } from '../config/field.js';
import { isReserved } from '../config/reserved.js';
import { misread } from '../config/secret.js';
import { keyFrom } from './answers.js';
import { type ChannelLogin, type Comment, type DraftOptions, type Option, VARIABLE_START } from './draft.js';
import { makePassword, makeToken, secretOf } from './made-secret.js';

export interface ImportedMount {
  /** Its path. */
  readonly mount: string;
  /** Null: no encoder comes here. */
  readonly encoder: { readonly user: string; readonly password: string } | null;
  /** Streams that are pulled, in order. */
  readonly pulls: readonly DraftOptions[];
  /** Options of the channel, without its sources. */
  readonly options: DraftOptions;
  /** Where its listeners go without a source: another mount, a file that is there, or a stream that is pulled. */
  readonly fallback:
    | { readonly mount: string }
    | { readonly file: string }
    | { readonly pull: DraftOptions; readonly text: string }
    | null;
}

export interface ImportedChannels {
  /** By keys. */
  readonly channels: DraftOptions;
  readonly keys: ReadonlyMap<string, string>;
  readonly logins: readonly ChannelLogin[];
  /** Below the channels. */
  readonly comments: readonly Comment[];
}

/** Of one file: more than any server has. */
const MAX_MOUNTS = 1000;
/** Of a channel: a configuration takes no more. */
const MAX_SOURCES = 16;

/** Passwords of examples: who guesses begins with them. */
const KNOWN_PASSWORDS = new Set(['hackme', 'hackmemore', 'changeme', 'password', 'source', 'secret', 'admin']);

/** Why a mount cannot be one here; null: it can. */
export function mountProblem(mount: string): string | null {
  if (!MOUNT.test(mount)) return 'cannot be a mount here (/, then A-Z a-z 0-9 . _ ~ ; - and /)';
  return isReserved(mount.split('/')[1]!) ? 'is a path that this server uses itself' : null;
}

/** A text as an option takes it: on one line, no longer than that, and without variables. */
export function plainText(text: string, most: number): string {
  const line = text
    .replace(/\s+/g, ' ')
    .split('')
    .filter((letter) => !CONTROL.test(letter))
    .join('');
  return line.replaceAll(VARIABLE_START, '$ {').trim().slice(0, most);
}

/** A URL as an option takes it; '': it cannot be one. */
export function plainUrl(text: string): string {
  return webUrl().safeParse(text).success && !text.includes(VARIABLE_START) ? text : '';
}

/** @param self where this server's own mounts are pulled from, as `http://127.0.0.1:8000` @param lose a sentence about what is lost */
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

/** A made one where the file has none that could be used. */
function passwordOf(mount: string, plain: string, lose: (sentence: string) => void) {
  if (plain === '') {
    lose(`${mount}: there is no password for encoders in the file; one was made`);
    const made = makePassword();
    return { option: made.option, made: made.plain };
  }
  if (KNOWN_PASSWORDS.has(plain))
    lose(`${mount}: its password is that of an example, which everybody knows: change it`);
  const problem = misread(plain);
  if (problem !== null) lose(`${mount}: its password ${problem}; SHOUTcast encoders cannot use it`);
  return { option: secretOf(plain).option, made: null };
}

/** `/live` is the key live; of `/live.mp3` too, where nothing else would be played there. */
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

function numbered(key: string, free: (key: string) => boolean): string {
  for (let number = 2; ; number++) {
    const next = `${key.slice(0, 58)}-${number}`;
    if (free(next)) return next;
  }
}

/**
 * What plays while a mount has no source of its own. A mount that is fed by an encoder is pulled from this server, and brings its own fallback along.
 */
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
      lose(`${from.mount}: its fallbacks go on for more than ${MAX_SOURCES} mounts`);
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
