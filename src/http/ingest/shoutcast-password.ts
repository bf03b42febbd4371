/**
 * SHOUTcast v1's first line: a password, which may also name a user or a mount (src/http/ingest/README.md, "SHOUTcast v1"). Pure. Channels do not
 * disclose their passwords: they only check whether one is theirs.
 *
 *   hackme   dj:hackme   hackme:#2   dj:hackme:#2   /live.mp3:hackme   !POKE
 */

import { createHash } from 'node:crypto';
import type { EncoderMount } from '../../channel/mount.js';
import { decodeUndeclared } from '../../metadata/text.js';
import type { RequestHeadFault } from '../../net/front/request-head.js';

/** The first line without its end, and the bytes after it. */
export interface FirstLine {
  readonly line: string;
  readonly rest: Buffer;
}

/** An interpretation of a line as a user (null: none) and a password. */
export interface PasswordReading {
  readonly user: string | null;
  readonly password: string;
}

export type Login =
  /** libshout asks whether a server is there, on a connection of its own. */
  | { readonly kind: 'poke' }
  /** A request with an unknown method; no password can look like one (config/secret.ts). */
  | { readonly kind: 'request' }
  | {
      readonly kind: 'password';
      /** The named mount, or null. */
      readonly mount: string | null;
      /** Possible interpretations, most literal first: passwords are known as digests only, and may contain a colon. */
      readonly readings: readonly PasswordReading[];
    };

const LF = 0x0a;
const CR = 0x0d;
const REQUEST = /^[A-Za-z]{1,20} .*\/\d\.\d$/;
/** SHOUTcast 2's number of a stream. Ignored: the password determines the channel. */
const STREAM_ID = /:#\d{1,9}$/;
const MOUNT = /^(\/[^:]*):(.*)$/;

/** The first bytes of SHOUTcast 2, which has no lines. */
const UVOX = Buffer.from('Z\0', 'latin1');
/** The line is a message of SHOUTcast 2. */
export const IS_UVOX: RequestHeadFault = {
  kind: 'malformed',
  message: 'the encoder speaks SHOUTcast 2 (uvox): set it to SHOUTcast 1 or Icecast',
};

/** Collects the first line from any chunks; blank lines before it are ignored. Not to be used after its result. */
export class FirstLineParser {
  readonly #maxBytes: number;
  #seen: Buffer = Buffer.alloc(0);

  /** @param maxBytes maximum size of the line with its end and the blank lines before it */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): FirstLine | 'more' | RequestHeadFault {
    this.#seen = this.#seen.length === 0 ? chunk : Buffer.concat([this.#seen, chunk]);
    let start = 0;
    while (this.#seen[start] === CR || this.#seen[start] === LF) start++;
    if (this.#seen.subarray(start, start + UVOX.length).equals(UVOX)) return IS_UVOX;
    const end = this.#seen.indexOf(LF, start);
    if (end < 0 ? this.#seen.length >= this.#maxBytes : end >= this.#maxBytes) {
      return { kind: 'too-large', message: `The first line is larger than ${this.#maxBytes} bytes` };
    }
    if (end < 0) return 'more';
    let last = end;
    while (this.#seen[last - 1] === CR) last--;
    return { line: decodeUndeclared(this.#seen.subarray(start, last)), rest: this.#seen.subarray(end + 1) };
  }
}

/** Parses a first line. */
export function readLogin(line: string): Login {
  if (line.startsWith('!')) return { kind: 'poke' };
  if (REQUEST.test(line)) return { kind: 'request' };
  const [, mount, secret] = MOUNT.exec(line) ?? [];
  if (mount !== undefined) return { kind: 'password', mount, readings: [{ user: null, password: secret! }] };
  const plain = line.replace(STREAM_ID, '');
  const colon = plain.indexOf(':');
  const readings: PasswordReading[] = [{ user: null, password: line }];
  if (plain !== line) readings.push({ user: null, password: plain });
  if (colon > 0) readings.push({ user: plain.slice(0, colon), password: plain.slice(colon + 1) });
  return { kind: 'password', mount: null, readings };
}

/** The user and password for a hook's question; the default user is `source`, as everywhere. Null: no password. */
export function namedIn(
  readings: readonly PasswordReading[],
): { readonly user: string; readonly password: string } | null {
  const [first, last] = [readings[0], readings.at(-1)];
  if (first === undefined || last === undefined) return null;
  // After a mount, the only interpretation may name a user.
  const [, user, password] = (readings.length === 1 && /^([^:]+):(.*)$/s.exec(first.password)) || [];
  const named = user === undefined ? last : { user, password: password! };
  return named.password === '' ? null : { user: named.user ?? 'source', password: named.password };
}

/** The channels that the first matching interpretation opens. All are compared with all, so that the time discloses nothing. */
export function openedBy<T extends Pick<EncoderMount, 'hasPassword' | 'hasUser'>>(
  readings: readonly PasswordReading[],
  channels: readonly T[],
): readonly T[] {
  const opened = readings.map(({ user, password }) => {
    const sha256 = createHash('sha256').update(password, 'utf8').digest();
    return channels.filter((channel) => channel.hasPassword(sha256) && (user === null || channel.hasUser(user)));
  });
  return opened.find((found) => found.length > 0) ?? [];
}
