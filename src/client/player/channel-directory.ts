/**
 * The channels of a server (`/web/channels.json`): name, paths, logo, whether they have audio. Polled while there are readers, more often while a
 * listener waits for audio; a hidden page polls only then. All players of a page share it.
 *
 * Invariant: one request at a time, and no polling without a reader.
 */

import { addressOf } from '../browser.js';

export interface DirectoryChannel {
  readonly stationkey: string;
  /** The station's display name, or its key. */
  readonly station: string;
  readonly key: string;
  readonly name: string;
  readonly description: string;
  readonly mount: string;
  /** "": it has no HLS. */
  readonly hls: string;
  /** The path and the length of its rewind; null: it has none. Absent: an older server. */
  readonly rewind?: { readonly path: string; readonly hours: number } | null;
  /** A path of the server; "": none. */
  readonly logo: string;
  readonly onAir: boolean;
  /** The content type; "": not known. */
  readonly type: string;
}

/** `waiting`: the listener waits for audio; `hearing`: it plays; `looking`: the listener has not asked for audio. */
export type DirectoryPace = 'waiting' | 'looking' | 'hearing';

export interface DirectoryReader {
  /** "": all channels. */
  readonly channel: string;
  /** How often it needs news. */
  readonly pace: () => DirectoryPace;
  readonly onChange: () => void;
}

const PACES_MS: Readonly<Record<DirectoryPace, number>> = { waiting: 4000, looking: 20_000, hearing: 60_000 };
/** The pause after the first failure; it doubles with each, up to that of `looking`. */
const AWAY_MS = 2000;
const TIMEOUT_MS = 8000;

const directories = new Map<string, ChannelDirectory>();

/** The directory of a server. @param root with a trailing slash */
export function directoryOf(root: URL): ChannelDirectory {
  let directory = directories.get(root.href);
  if (directory === undefined) directories.set(root.href, (directory = new ChannelDirectory(root)));
  return directory;
}

export class ChannelDirectory {
  readonly #root: URL;
  readonly #channels = new Map<string, DirectoryChannel>();
  readonly #readers = new Set<DirectoryReader>();
  #isAway = false;
  #failures = 0;
  /** How far the server's clock is ahead of this one, milliseconds. */
  #aheadMs = 0;
  #isAsking = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(root: URL) {
    this.#root = root;
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible' && this.#readers.size > 0) this.check();
    });
    addEventListener('online', () => this.#readers.size > 0 && this.check());
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /** Unix milliseconds by the server's clock, to a second. */
  get serverMs(): number {
    return Date.now() + this.#aheadMs;
  }

  get(key: string): DirectoryChannel | undefined {
    return this.#channels.get(key);
  }

  /** Takes the channels that the page was served with. */
  prime(channels: readonly DirectoryChannel[]): void {
    for (const channel of channels) this.#channels.set(channel.key, channel);
  }

  /** @returns a function that unsubscribes */
  subscribe(reader: DirectoryReader): () => void {
    this.#readers.add(reader);
    if (this.#channels.has(reader.channel)) this.#plan();
    else this.check();
    return () => {
      this.#readers.delete(reader);
      if (this.#readers.size === 0) clearTimeout(this.#timer);
    };
  }

  /** Requests it now, unless that is under way. */
  check(): void {
    if (!this.#isAsking) void this.#ask();
  }

  /** The pace of a reader has changed. */
  hurry(): void {
    if (!this.#isAsking) this.#plan();
  }

  async #ask(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isAsking = true;
    const keys = new Set([...this.#readers].map(({ channel }) => channel));
    const url = addressOf(this.#root, 'web/channels.json');
    const [only] = keys;
    if (keys.size === 1 && only) url.searchParams.set('channel', only);
    try {
      const answer = await fetch(url, { cache: 'no-cache', signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (!answer.ok) throw new Error(`${answer.status}`);
      const channels = (await answer.json()) as DirectoryChannel[];
      const dateMs = Date.parse(answer.headers.get('date') ?? '');
      if (dateMs > 0) this.#aheadMs = dateMs - Date.now();
      this.#channels.clear();
      for (const channel of channels) this.#channels.set(channel.key, channel);
      this.#isAway = false;
      this.#failures = 0;
    } catch {
      this.#isAway = true;
      this.#failures++;
    }
    this.#isAsking = false;
    for (const { onChange } of [...this.#readers]) onChange();
    // A reader has come meanwhile, whose channel was not requested.
    const isMissed = keys.size === 1 && [...this.#readers].some(({ channel }) => !keys.has(channel));
    if (isMissed && !this.#isAway && only) void this.#ask();
    else this.#plan();
  }

  #plan(): void {
    clearTimeout(this.#timer);
    if (this.#readers.size === 0) return;
    const paces = new Set([...this.#readers].map((reader) => reader.pace()));
    if (document.visibilityState === 'hidden' && !paces.has('waiting')) return;
    let ms = Math.min(...[...paces].map((pace) => PACES_MS[pace]));
    if (this.#isAway) ms = Math.min(PACES_MS.looking, AWAY_MS * 2 ** Math.min(this.#failures - 1, 4));
    this.#timer = setTimeout(() => this.check(), ms * (0.75 + Math.random() / 2));
  }
}
