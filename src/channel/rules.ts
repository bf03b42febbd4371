/** What the configuration says of a channel's titles: which are taken and from whom. The same wherever the channel is served. */

import type { ChannelConfig, Config } from '../config/schema.js';
import { secretMatches } from '../config/secret.js';
import { cleanText } from '../metadata/text.js';
import type { FallbackRules } from '../now-playing/fallback.js';
import type { TitleOrigin } from '../now-playing/trust.js';

export class ChannelRules {
  /** Which titles are taken, in order of trust. */
  readonly titlesFrom: readonly TitleOrigin[];
  /** Entities of HTML in pushed texts are decoded. */
  readonly pushDecodesEntities: boolean;
  /** How far ahead pushes are held. */
  readonly holdSeconds: number;
  /** Its own title, for when there is no better one. */
  readonly fallback: FallbackRules | null;
  readonly #pushTokens: ChannelConfig['pushTokens'];

  constructor(config: ChannelConfig, all: Pick<Config, 'metadata'>) {
    this.titlesFrom = config.titlesFrom;
    this.pushDecodesEntities = config.pushDecodesEntities;
    this.holdSeconds = config.holdSeconds ?? all.metadata.holdSeconds;
    this.fallback = fallbackRules(config);
    this.#pushTokens = config.pushTokens;
  }

  authorizesPush(token: string): boolean {
    return secretMatches(this.#pushTokens, token);
  }
}

function fallbackRules({ fallback }: ChannelConfig): FallbackRules | null {
  if (fallback === undefined) return null;
  const { artist, song, graceSeconds, whenSourceLost } = fallback;
  return { title: { artist: cleanText(artist), song: cleanText(song) }, graceSeconds, whenSourceLost };
}
