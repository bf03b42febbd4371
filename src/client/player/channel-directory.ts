/**
 * What a server says of its channels (`/web/channels.json`): name, paths, logo, whether they have audio. Asked for again while anybody wants to
 * know, more often where a listener waits for sound; pages that are not looked at ask only where one waits. All players of a page share it.
 *
 * Invariant: one question at a time, and none without a subscription.
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
  /** What it has played in the last hours can be played again, at this path; null: it cannot. Absent: an older server. */
  readonly rewind?: { readonly path: string; readonly hours: number } | null;
  /** A path of the server; "": none. */
  readonly logo: string;
  readonly onAir: boolean;
  /** The content type; "": not known. */
  readonly type: string;
}

/** `waiting`: a listener waits for audio; `hearing`: one has it. */
export type DirectoryPace = 'waiting' | 'looking' | 'hearing';

export interface DirectoryReader {
  /** "": all channels. */
  readonly channel: string;
  /** How soon it wants to know. */
  readonly pace: () => DirectoryPace;
  readonly onChange: () => void;
}

const PACES_MS: Readonly<Record<DirectoryPace, number>> = { waiting: 4000, looking: 20_000, hearing: 60_000 };
/** The first try after the server could not be reached; the others take twice as long each, up to that of a look. */
const AWAY_MS = 2000;
const TIMEOUT_MS = 8000;

const directories = new Map<string, ChannelDirectory>();

/** That of a server. @param root with a trailing slash */
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
  /** By which the server's clock is ahead of this one, milliseconds. */
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

  /** What a page came with. */
  prime(channels: readonly DirectoryChannel[]): void {
    for (const channel of channels) this.#channels.set(channel.key, channel);
  }

  /** @returns ends it */
  subscribe(reader: DirectoryReader): () => void {
    this.#readers.add(reader);
    if (this.#channels.has(reader.channel)) this.#plan();
    else this.check();
    return () => {
      this.#readers.delete(reader);
      if (this.#readers.size === 0) clearTimeout(this.#timer);
    };
  }

  /** Asks now. */
  check(): void {
    if (!this.#isAsking) void this.#ask();
  }

  /** A reader waits, or no longer. */
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
    // Another player has come meanwhile, whose channel was not asked for.
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
