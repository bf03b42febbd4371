/**
 * A session of another process, as far as readers here need it: who it is, the titles that it was sent and has heard. That process says what happens
 * in it, in order, and everything once more where something may be missing (`catchUp`).
 *
 *   titles   … │ heard │ waits │ waits │      `hear` takes the first that waits; the last of all is the one that was written last
 */

import { Message, type Sync } from '../../feed/feed.js';
import type { RecordView } from '../../metadata/view.js';
import { nextMessageOf, type ReadableSession } from './readable-session.js';
import type { SessionPlace } from './session-place.js';

/** A title at its place in a session's stream, rendered where that plays. */
export interface CopiedTitle {
  readonly order: number;
  /** Of its record. */
  readonly version: number;
  readonly positionMs: number;
  readonly json: string;
}

/** All that readers have to be given of a session. */
export interface SessionState {
  readonly id: string;
  readonly channel: string;
  readonly mount: string;
  /** It has just begun: nothing was published of it yet. */
  readonly isNew: boolean;
  /** In order, from the title that is heard on, where there is one. */
  readonly titles: readonly CopiedTitle[];
  /** The order of the title that is heard; -1: none. */
  readonly heard: number;
}

/** What a reader has not been given yet. */
export interface CaughtUp {
  readonly written: readonly Message[];
  readonly heard: readonly Message[];
}

interface KnownTitle extends CopiedTitle {
  readonly message: Message;
}

export class SessionCopy implements ReadableSession {
  readonly metaid: string;
  /** Changes a little when it comes over another link between the same machines. */
  place: SessionPlace;
  readonly id: string;
  channel: string;
  mount: string;
  #waiting: KnownTitle[] = [];
  #written: KnownTitle | null = null;
  #heard: KnownTitle | null = null;

  constructor(metaid: string, place: SessionPlace, { id, channel, mount }: SessionState) {
    this.metaid = metaid;
    this.place = place;
    this.id = id;
    this.channel = channel;
    this.mount = mount;
  }

  now(sync: Sync): Message | null {
    return this.#last(sync)?.message ?? null;
  }

  version(sync: Sync): number | null {
    return this.#last(sync)?.version ?? null;
  }

  nextMessage(view: RecordView): Message {
    return nextMessageOf(this, view);
  }

  /** All of it once more. Returns what was not known, in order. */
  catchUp({ channel, mount, titles, heard }: SessionState): CaughtUp {
    this.channel = channel;
    this.mount = mount;
    const [writtenBefore, heardBefore] = [this.#written?.order ?? -1, this.#heard?.order ?? -1];
    const known = titles.map((title) => this.#known(title));
    this.#written = known.at(-1) ?? null;
    this.#heard = known.findLast(({ order }) => order <= heard) ?? null;
    this.#waiting = known.filter(({ order }) => order > heard);
    return {
      written: known.filter(({ order }) => order > writtenBefore).map(({ message }) => message),
      heard: known.filter(({ order }) => order > heardBefore && order <= heard).map(({ message }) => message),
    };
  }

  write(title: CopiedTitle): Message {
    const known = this.#known(title);
    this.#written = known;
    this.#waiting.push(known);
    return known.message;
  }

  /** The title with this order is heard. Null: it is not known. */
  hear(order: number): Message | null {
    const at = this.#waiting.findIndex((title) => title.order === order);
    if (at < 0) return null;
    this.#heard = this.#waiting[at]!;
    this.#waiting.splice(0, at + 1);
    return this.#heard.message;
  }

  #last(sync: Sync): KnownTitle | null {
    return sync === 'audio' ? this.#heard : this.#written;
  }

  /** The message of a title that is known already stays the same one. */
  #known(title: CopiedTitle): KnownTitle {
    const { order, positionMs, json } = title;
    for (const known of [this.#written, this.#heard]) if (known?.order === order) return known;
    const found = this.#waiting.find((known) => known.order === order);
    return found ?? { ...title, message: new Message('now', `${this.id}~${Math.round(positionMs)}`, json) };
  }
}
