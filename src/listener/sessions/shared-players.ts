/**
 * The private listeners of HLS of all processes, as one worker knows them. A player's requests may reach any process; its listener is in the one that
 * admitted it, which is notified of each request. Each process knows the keys of all listeners elsewhere, by the registry of sessions:
 *
 *   player ─ live.m3u8?s= ─► worker 2 ─ REPORT ─► hub ─► worker 1, which admitted it           LOCATION: it is there, or has ended
 *
 * A key is a digest of token, mount and channel, so that links carry no valid token, and a token is unknown at another mount.
 */

import { createHash } from 'node:crypto';
import type { Alarm, Clock } from '../../base/clock.js';
import { precedes, type SessionLocation } from './session-location.js';
import type { SessionLink } from './shared-sessions.js';

/** The prefix of keys: no metaid has a colon. */
const PREFIX = 'hls:';
export const PLAYER_KEY = /^hls:[A-Za-z0-9_-]{22}$/;
const DIGEST_CHARACTERS = 22;
const BYTES = /^\d{1,9}$/;
/** After this time with a new hub, keys that it has not confirmed are forgotten. */
const SETTLE_MS = 2000;

/** A listener of this process. */
export interface SharedPlayer {
  /** When it was admitted, by a clock that all processes share. */
  readonly sinceMs: number;
  /** It has requested the playlist from another process. @param bytes that it was sent there */
  onAsked(bytes: number): void;
  /** Another process had admitted it before: it belongs there. */
  onRemote(): void;
}

export class SharedPlayers {
  /** The number of this process. */
  readonly #worker: number;
  readonly #link: Pick<SessionLink, 'reportFirst' | 'report'>;
  readonly #clock: Clock;
  readonly #own = new Map<string, SharedPlayer>();
  /** Key → whether the present hub has confirmed it. */
  readonly #remote = new Map<string, boolean>();
  /** Requests that wait for a key. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #settling: Alarm | null = null;

  constructor(worker: number, link: Pick<SessionLink, 'reportFirst' | 'report'>, clock: Clock) {
    this.#worker = worker;
    this.#link = link;
    this.#clock = clock;
  }

  /** Balance with `remove`. */
  add(key: string, player: SharedPlayer): void {
    this.#own.set(key, player);
    this.#report(key, player);
  }

  remove(key: string): void {
    if (this.#own.delete(key)) this.#link.reportFirst(key, null);
  }

  /** Whether it is in another process. */
  has(key: string): boolean {
    return this.#remote.has(key);
  }

  /** It has requested the playlist here. @param bytes that it is sent */
  asked(key: string, bytes: number): void {
    void this.#link.report(key, Buffer.from(String(bytes)));
  }

  /** Calls back once, when it is known to be elsewhere, since it may just have been admitted there. @returns cancels it */
  await(key: string, onKnown: () => void): () => void {
    let waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, (waiting = new Set()));
    waiting.add(onKnown);
    return () => {
      waiting.delete(onKnown);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    };
  }

  // From the hub.

  /** Connected to a hub: reports the listeners of this process; the hub will report the others. */
  onLinked(): void {
    for (const [key, player] of this.#own) this.#report(key, player);
    this.#settling = this.#clock.alarm(this.#clock.now() + SETTLE_MS, { onAlarm: () => this.#forgetUnconfirmed() });
  }

  /** The hub is lost. Known keys stay. */
  onLost(): void {
    this.#settling?.cancel();
    for (const key of this.#remote.keys()) this.#remote.set(key, false);
  }

  /** @param location in another process; null: none */
  onFirst(key: string, location: SessionLocation | null): void {
    if (location === null) {
      this.#remote.delete(key);
      return;
    }
    this.#remote.set(key, true);
    // Its first two requests reached two processes at once: the earlier one keeps it.
    const own = this.#own.get(key);
    if (own !== undefined && precedes(this.#locationOf(own), location)) own.onRemote();
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    for (const onKnown of waiting ?? []) onKnown();
  }

  /** A player of this process has sent a request to another one. @returns whether it is here */
  onAsked(key: string, bytes: Buffer): boolean {
    const player = this.#own.get(key);
    const text = bytes.toString('latin1');
    if (player === undefined || !BYTES.test(text)) return false;
    player.onAsked(Number(text));
    return true;
  }

  #report(key: string, player: SharedPlayer): void {
    this.#link.reportFirst(key, this.#locationOf(player));
  }

  #locationOf({ sinceMs }: SharedPlayer): SessionLocation {
    return { worker: this.#worker, sinceMs, endedMs: Number.POSITIVE_INFINITY };
  }

  #forgetUnconfirmed(): void {
    for (const [key, isConfirmed] of this.#remote) if (!isConfirmed) this.#remote.delete(key);
  }
}

/** @param mount its path @param channel the mount's, since a reload may give the path to another one */
export function playerKey(token: string, mount: string, channel: string): string {
  const digest = createHash('sha256').update(`${token}\n${mount}\n${channel}`).digest('base64url');
  return `${PREFIX}${digest.slice(0, DIGEST_CHARACTERS)}`;
}

export function isPlayerKey(key: string): boolean {
  return key.startsWith(PREFIX);
}
