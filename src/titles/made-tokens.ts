/**
 * Push tokens that operators have made, by channel, and when each token, including those of the configuration, was last used. A check takes the
 * same time however many tokens there are. Invariant: a token is valid only while its maker may make tokens, even before the hub has removed
 * it.
 */

import { timingSafeEqual } from 'node:crypto';
import { Refusal } from '../base/refusal.js';

/** For each channel. */
const MAX_MADE = 8;
const NONE = Buffer.alloc(32);

/** A token as the hub keeps it (admin/rows.ts). */
export interface TokenDigest {
  readonly id: string;
  readonly channel: string;
  /** The user who made it. */
  readonly by: string;
  /** In hexadecimal. */
  readonly sha256: string;
  /** When it expires; null: never. */
  readonly untilMs: number | null;
}

interface KnownDigest {
  readonly id: string;
  readonly by: string;
  readonly sha256: Buffer;
  readonly untilMs: number;
}

export class MadeTokens {
  readonly #wallMs: () => number;
  readonly #mayMake: (by: string) => boolean;
  #byChannel = new Map<string, KnownDigest[]>();
  /** Id → unix milliseconds. */
  readonly #used = new Map<string, number>();

  /** @param mayMake whether this user may make tokens now */
  constructor(wallMs: () => number, mayMake: (by: string) => boolean) {
    this.#wallMs = wallMs;
    this.#mayMake = mayMake;
  }

  /** Replaces all tokens. */
  set(tokens: readonly TokenDigest[]): void {
    this.#byChannel = new Map();
    for (const { id, channel, by, sha256, untilMs } of tokens) {
      const known = this.#byChannel.get(channel) ?? [];
      known.push({ id, by, sha256: Buffer.from(sha256, 'hex'), untilMs: untilMs ?? Number.POSITIVE_INFINITY });
      this.#byChannel.set(channel, known);
    }
  }

  /** Whether it is a token of the channel. Constant time. @param sha256 of the token */
  has(channel: string, sha256: Buffer): boolean {
    const known = this.#byChannel.get(channel) ?? [];
    const nowMs = this.#wallMs();
    let found: string | null = null;
    for (let i = 0; i < MAX_MADE; i++) {
      const token = known[i];
      const isSame = timingSafeEqual(token?.sha256 ?? NONE, sha256);
      if (isSame && token !== undefined && nowMs < token.untilMs && this.#mayMake(token.by)) found = token.id;
    }
    if (found !== null) this.use(found);
    return found !== null;
  }

  use(id: string): void {
    this.#used.set(id, this.#wallMs());
  }

  /** Id → when it was last used in this process. */
  get used(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#used);
  }
}

/** Adds a token. One that exists already changes nothing, since a worker repeats its request to the next hub. Throws a Refusal past MAX_MADE. */
export function withToken<T extends { readonly id: string; readonly channel: string }>(
  tokens: readonly T[],
  token: T,
): readonly T[] {
  if (tokens.some(({ id }) => id === token.id)) return tokens;
  if (tokens.filter(({ channel }) => channel === token.channel).length < MAX_MADE) return [...tokens, token];
  throw new Refusal('too-many', `The channel already has ${MAX_MADE} tokens created here: revoke one first.`);
}
