/** The lock screen and the media keys (Media Session, W3C), if the browser has them. They belong to the player that began last. */

import { browser, type SystemSession } from './browser.js';
import type { ArtworkOf, ChannelRecord } from './types.js';

export interface SystemActions {
  readonly play: () => void;
  readonly pause: () => void;
  readonly stop: () => void;
}

const ACTIONS = ['play', 'pause', 'stop'] as const;

let owner: SystemPlayer | null = null;

export class SystemPlayer {
  readonly #actions: SystemActions;
  readonly #artwork: ArtworkOf;
  #record: ChannelRecord | null = null;

  /** @param artwork URLs of pictures, which the browser loads by the page's Content-Security-Policy */
  constructor(actions: SystemActions, artwork: ArtworkOf) {
    this.#actions = actions;
    this.#artwork = artwork;
  }

  /** Makes this player their owner. */
  claim(): void {
    owner = this;
    setActions(this.#session, this.#actions);
  }

  /** @param record null: nothing is known */
  show(record: ChannelRecord | null): void {
    this.#record = record;
    if (this.#session === undefined) return;
    const pictures = record === null ? [] : this.#artwork(record);
    this.#set(record, 'then' in pictures ? [] : pictures);
    if (!('then' in pictures)) return;
    const onLoaded = (loaded: readonly string[]) => {
      if (this.#record === record) this.#set(record, loaded);
    };
    // If the pictures fail, the title is shown without them.
    void pictures.then(onLoaded, () => undefined);
  }

  #set(record: ChannelRecord | null, pictures: readonly string[]): void {
    const session = this.#session;
    if (session === undefined || browser.MediaMetadata === undefined) return;
    session.metadata = record && new browser.MediaMetadata(metadataOf(record, pictures));
  }

  setPlaying(isPlaying: boolean): void {
    const session = this.#session;
    if (session !== undefined) session.playbackState = isPlaying ? 'playing' : 'paused';
  }

  /** Clears the lock screen and gives up the media keys, if this player owns them. */
  release(): void {
    this.#record = null;
    const session = this.#session;
    if (session !== undefined) {
      session.metadata = null;
      session.playbackState = 'none';
      setActions(session, null);
    }
    if (owner === this) owner = null;
  }

  get #session(): SystemSession | undefined {
    return owner === this ? browser.navigator?.mediaSession : undefined;
  }
}

function setActions(session: SystemSession | undefined, actions: SystemActions | null): void {
  for (const action of ACTIONS) {
    try {
      session?.setActionHandler(action, actions?.[action] ?? null);
    } catch {
      // Older browsers throw at an action that they do not know.
    }
  }
}

/** All covers of a record. */
export function coversOf({ cover, images }: ChannelRecord): readonly string[] {
  return [cover, images.small, images.medium, images.large];
}

function metadataOf({ song, title, artist, channel }: ChannelRecord, pictures: readonly string[]) {
  const artwork = Array.from(new Set(pictures.filter((src) => src !== '')), (src) => ({ src }));
  return { title: song || title || channel, artist, album: channel, artwork };
}
