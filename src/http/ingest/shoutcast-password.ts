/**
 * SHOUTcast v1's first line, the password, which says which encoder comes and what for (src/http/ingest/README.md, "SHOUTcast v1"). Pure: channels
 * show no password, they only say whether one is theirs.
 *
 *   hackme   dj:hackme   hackme:#2   dj:hackme:#2   /live.mp3:hackme   !POKE
 */

import { createHash } from 'node:crypto';
import type { EncoderMount } from '../../channel/mount.js';
import { decodeUndeclared } from '../../metadata/text.js';
import type { RequestHeadFault } from '../../net/front/request-head.js';

/** The first line without its end, and what came after it. */
export interface FirstLine {
  readonly line: string;
  readonly rest: Buffer;
}

/** A user (null: none is named) and a password that a line may mean. */
export interface PasswordReading {
  readonly user: string | null;
  readonly password: string;
}

export type Login =
  /** libshout asks whether a server is there, on a connection of its own. */
  | { readonly kind: 'poke' }
  /** No password can look like this (config/secret.ts): a request in a method that is not known. */
  | { readonly kind: 'request' }
  | {
      readonly kind: 'password';
      /** The mount that is named, or null. */
      readonly mount: string | null;
      /** What the line may mean, most literal first: a password that is known as a digest only may hold a colon. */
      readonly readings: readonly PasswordReading[];
    };

const LF = 0x0a;
const CR = 0x0d;
const REQUEST = /^[A-Za-z]{1,20} .*\/\d\.\d$/;
/** Of SHOUTcast 2: the stream of a server that has several. Here the password says it. */
const STREAM_ID = /:#\d{1,9}$/;
const MOUNT = /^(\/[^:]*):(.*)$/;

/** How SHOUTcast 2 begins, which has no lines. */
const UVOX = Buffer.from('Z\0', 'latin1');
/** A message of SHOUTcast 2. */
export const IS_UVOX: RequestHeadFault = {
  kind: 'malformed',
  message: 'the encoder speaks SHOUTcast 2 (uvox): choose SHOUTcast 1 or Icecast in it',
};

/** Collects the first line, however it comes; blank ones before it are ignored. After its answer it is used up. */
export class FirstLineParser {
  readonly #mostBytes: number;
  #seen: Buffer = Buffer.alloc(0);

  /** @param mostBytes of the line with its end, and of the blank ones before it */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  push(chunk: Buffer): FirstLine | 'more' | RequestHeadFault {
    this.#seen = this.#seen.length === 0 ? chunk : Buffer.concat([this.#seen, chunk]);
    let start = 0;
    while (this.#seen[start] === CR || this.#seen[start] === LF) start++;
    if (this.#seen.subarray(start, start + UVOX.length).equals(UVOX)) return IS_UVOX;
    const end = this.#seen.indexOf(LF, start);
    if (end < 0 ? this.#seen.length >= this.#mostBytes : end >= this.#mostBytes) {
      return { kind: 'too-large', message: `The first line is larger than ${this.#mostBytes} bytes` };
    }
    if (end < 0) return 'more';
    let last = end;
    while (this.#seen[last - 1] === CR) last--;
    return { line: decodeUndeclared(this.#seen.subarray(start, last)), rest: this.#seen.subarray(end + 1) };
  }
}

/** What a first line asks for. */
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

/** The user and password that a hook is asked about; an encoder that names no user is `source`, as everywhere. Null: there is no password. */
export function namedIn(
  readings: readonly PasswordReading[],
): { readonly user: string; readonly password: string } | null {
  const [first, last] = [readings[0], readings.at(-1)];
  if (first === undefined || last === undefined) return null;
  // Behind a mount stands all that is said.
  const [, user, password] = (readings.length === 1 && /^([^:]+):(.*)$/s.exec(first.password)) || [];
  const named = user === undefined ? last : { user, password: password! };
  return named.password === '' ? null : { user: named.user ?? 'source', password: named.password };
}

/** The channels that the first reading opens which opens any. All are looked at for all readings, so that the time shows nothing. */
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
