/** The live titles of a channel, also while it is not played: the one in force, since when, and the next one. */

import { follow } from '../follow.js';
import type { ChannelRecord, Following } from '../types.js';
import { isSameTitle } from './title-facts.js';

export interface LiveTitlesOptions {
  readonly root: URL;
  readonly channel: string;
  readonly onChange: () => void;
  /** The connection is lost; the next one is under way. */
  readonly onLost: () => void;
}

export class LiveTitles {
  readonly #following: Following;
  #now: ChannelRecord | null = null;
  /** When it took effect, on performance.now(); NaN: before this connection. */
  #sinceMs = Number.NaN;
  #next: ChannelRecord | null = null;
  #isMissing = false;

  constructor({ root, channel, onChange, onLost }: LiveTitlesOptions) {
    this.#following = follow({
      channel,
      server: root,
      onNow: (record, isNews) => {
        if (!isSameTitle(this.#now, record)) this.#sinceMs = isNews ? performance.now() : Number.NaN;
        this.#now = record;
        onChange();
      },
      onNext: (record) => {
        this.#next = record;
        onChange();
      },
      onState: (state) => {
        this.#isMissing = state === 'missing';
        if (state === 'reconnecting') onLost();
        if (state !== 'closed') onChange();
      },
    });
  }

  get now(): ChannelRecord | null {
    return this.#now;
  }

  get next(): ChannelRecord | null {
    return this.#next;
  }

  /** The server knows no such channel. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  /** How long the title has been in force, seconds; NaN: not known. */
  get seconds(): number {
    return (performance.now() - this.#sinceMs) / 1000;
  }

  /** Takes the titles that the page was served with, unless newer ones are known. */
  prime(now: ChannelRecord | null, next: ChannelRecord | null): void {
    this.#now ??= now;
    this.#next ??= next;
  }

  close(): void {
    this.#following.close();
  }
}
