/** The configuration's rules for a channel's titles: which are accepted, and from whom. The same wherever the channel is served. */

import type { ChannelConfig, Config } from '../config/schema.js';
import { secretMatches } from '../config/secret.js';
import { cleanText } from '../metadata/text.js';
import type { FallbackRules } from '../now-playing/fallback.js';
import type { FirstTitle } from '../now-playing/first-title.js';
import type { TitleOrigin } from '../now-playing/trust.js';

export class ChannelRules {
  readonly #key: string;
  readonly #config: ChannelConfig;
  readonly #all: Pick<Config, 'metadata'>;

  constructor(key: string, config: ChannelConfig, all: Pick<Config, 'metadata'>) {
    this.#key = key;
    this.#config = config;
    this.#all = all;
  }

  /** The accepted origins of titles, most trusted first. */
  get titlesFrom(): readonly TitleOrigin[] {
    return this.#config.titlesFrom;
  }

  /** Whether HTML entities in pushed texts are decoded. */
  get pushDecodesEntities(): boolean {
    return this.#config.pushDecodesEntities;
  }

  /** How far ahead pushes are held, seconds. */
  get holdSeconds(): number {
    return this.#config.holdSeconds ?? this.#all.metadata.holdSeconds;
  }

  /** The channel's own title, if there is no better one. */
  get fallback(): FallbackRules | null {
    return fallbackRules(this.#config);
  }

  /** The title while a source on air has sent none; null: the fallback title, else none. */
  get firstTitle(): FirstTitle | null {
    const { firstTitle, name } = this.#config;
    if (firstTitle === undefined) return null;
    if (firstTitle === 'last') return firstTitle;
    if (firstTitle === 'nothing') return { artist: '', song: '' };
    const { artist, song } = firstTitle === 'channel' ? { artist: '', song: name || this.#key } : firstTitle;
    return { artist: cleanText(artist), song: cleanText(song) };
  }

  /** @param token or its SHA-256 */
  authorizesPush(token: string | Buffer): boolean {
    return secretMatches(this.#config.pushTokens, token);
  }

  /** The number of the configured token, from 1; 0: none. Only for a token that is right: not in constant time. */
  placeOfToken(sha256: Buffer): number {
    return this.#config.pushTokens.findIndex((token) => token.sha256.equals(sha256)) + 1;
  }

  get tokens(): number {
    return this.#config.pushTokens.length;
  }
}

function fallbackRules({ fallback }: ChannelConfig): FallbackRules | null {
  if (fallback === undefined) return null;
  const { artist, song, graceSeconds, whenSourceLost } = fallback;
  return { title: { artist: cleanText(artist), song: cleanText(song) }, graceSeconds, whenSourceLost };
}
