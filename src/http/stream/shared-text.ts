/**
 * A text about all channels, rendered at most once a second for all clients. Invariant: the rendering does not depend on the request; each
 * answer replaces its placeholders by the URL and host under which its client reaches the server.
 */

/** Placeholders: noncharacters, which metadata/text.ts removes from all texts. */
const BASE = '\ufdd0';
const HOST = '\ufdd1';
const FRESH_MS = 1000;

/** How the client reaches this server. */
export interface Reached {
  /** The base URL of mounts, without a trailing slash. */
  readonly base: string;
  /** The host without the port; IPv6 addresses in brackets. */
  readonly host: string;
}

export function reachedAt(base: string): Reached {
  return { base, host: /^https?:\/\/(\[[^\]]*\]|[^:/]*)/.exec(base)?.[1] ?? '' };
}

export class SharedText {
  readonly #render: (reached: Reached) => string;
  readonly #escape: (text: string) => string;
  #text = '';
  #untilMs = Number.NEGATIVE_INFINITY;

  /** @param escaped escapes a text for the format that `render` returns */
  constructor(render: (reached: Reached) => string, escaped: (text: string) => string) {
    this.#render = render;
    this.#escape = escaped;
  }

  /** @param nowMs monotonic */
  for({ base, host }: Reached, nowMs: number): string {
    if (nowMs >= this.#untilMs) {
      this.#text = this.#render({ base: BASE, host: HOST });
      this.#untilMs = nowMs + FRESH_MS;
    }
    return this.#text.replaceAll(BASE, () => this.#escape(base)).replaceAll(HOST, () => this.#escape(host));
  }
}
