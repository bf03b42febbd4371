/**
 * A copy of another process's session for the readers here: its identity, the titles written and heard. That process sends its changes in order,
 * and its whole state if something may be missing (`catchUp`).
 *
 *   titles   … │ heard │ waits │ waits │      `hear` takes one that waits; the last is the one written last
 */

import type { Message, Sync } from '../../feed/feed.js';
import type { RecordView } from '../../metadata/view.js';
import { nextMessageOf, nowMessageOf, type ReadableSession } from './readable-session.js';
import type { SessionLocation } from './session-location.js';

/** A title at its place in a session's stream, rendered by the process that plays it. */
export interface CopiedTitle {
  readonly order: number;
  /** Of its record. */
  readonly version: number;
  readonly positionMs: number;
  readonly json: string;
}

/** The state of a session as far as readers need it. */
export interface SessionState {
  readonly id: string;
  readonly channel: string;
  readonly mount: string;
  /** It has just begun: nothing of it was published yet. */
  readonly isNew: boolean;
  /** In order, from the title heard now, if there is one. */
  readonly titles: readonly CopiedTitle[];
  /** The order of the title heard now; -1: none. */
  readonly heard: number;
}

/** Messages that readers have not had yet, in order. */
export interface CaughtUp {
  readonly written: readonly Message[];
  readonly heard: readonly Message[];
}

interface KnownTitle extends CopiedTitle {
  readonly message: Message;
}

export class SessionCopy implements ReadableSession {
  readonly metaid: string;
  /** Its times change a little when it comes over another link between the same machines. */
  location: SessionLocation;
  readonly id: string;
  channel: string;
  mount: string;
  #waiting: KnownTitle[] = [];
  #written: KnownTitle | null = null;
  #heard: KnownTitle | null = null;

  constructor(metaid: string, location: SessionLocation, { id, channel, mount }: SessionState) {
    this.metaid = metaid;
    this.location = location;
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

  /** Takes over the whole state. Returns what was new. */
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

  /** The title with this order is heard. Null: unknown. */
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

  /** A known title keeps its message. */
  #known(title: CopiedTitle): KnownTitle {
    const { order, json } = title;
    for (const known of [this.#written, this.#heard]) if (known?.order === order) return known;
    const found = this.#waiting.find((known) => known.order === order);
    return found ?? { ...title, message: nowMessageOf(this.id, order, json) };
  }
}
