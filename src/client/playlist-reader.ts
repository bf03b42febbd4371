/**
 * Polls a media playlist, once in its target duration, beside a player that does not expose what it reads. Playlists are shared: a cache answers
 * both.
 *
 *   url ─ is it a multivariant one? ─ its first stream ─► media playlist ─► onPlaylist, again after TARGETDURATION
 *
 * After any other answer it starts over at the first URL.
 */

/** Between two reads, seconds. */
const USUAL_SECONDS = 4;
const MAX_SECONDS = 60;
const TIMEOUT_MS = 10_000;
/** The first stream of a multivariant playlist. */
const STREAM = /^#EXT-X-STREAM-INF:.*\r?\n(?:#.*\r?\n)*([^#\s].*)$/m;

export class PlaylistReader {
  readonly #url: URL;
  readonly #onPlaylist: (text: string) => void;
  /** Null: not known yet. */
  #media: URL | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(url: URL, onPlaylist: (text: string) => void) {
    this.#url = url;
    this.#onPlaylist = onPlaylist;
    void this.#poll();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #poll(): Promise<void> {
    const seconds = await this.#read();
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#poll(), seconds * 1000);
  }

  /** @returns seconds until the next read */
  async #read(): Promise<number> {
    let text = '';
    try {
      text = await this.#load(this.#media ?? this.#url);
    } catch {
      this.#media = null;
    }
    if (text === '' || this.#isClosed) return USUAL_SECONDS;
    this.#onPlaylist(text);
    const seconds = Number(/^#EXT-X-TARGETDURATION:(\d+)/m.exec(text)?.[1] ?? USUAL_SECONDS);
    return Math.min(Math.max(1, seconds), MAX_SECONDS);
  }

  /** @returns a media playlist. Rejects if there is none */
  async #load(url: URL, isStream = false): Promise<string> {
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = answer.ok ? await answer.text() : '';
    const stream = STREAM.exec(text)?.[1]?.trim();
    if (!text.startsWith('#EXTM3U') || (isStream && stream !== undefined)) throw new Error('not a media playlist');
    // Relative to the URL after redirects.
    if (stream !== undefined) return this.#load(new URL(stream, answer.url), true);
    this.#media = new URL(answer.url);
    return text;
  }
}
