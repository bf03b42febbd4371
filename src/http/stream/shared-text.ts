/**
 * A text about all channels, rendered at most once a second however many ask. Invariant: who asks as what host changes nothing of the
 * rendering: the URL under which a client reaches the server is put in for each answer, in the places that the rendering left for it.
 */

/** No character of any text that came in (metadata/text.ts). */
const BASE = '\ufdd0';
const HOST = '\ufdd1';
const FRESH_MS = 1000;

/** How the client reaches this server. */
export interface Reached {
  /** The URL before a mount, without a slash at the end. */
  readonly base: string;
  /** Without its port; an IPv6 address in brackets. */
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

  /** @param escaped makes a text fit that is put into what `render` returns */
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
