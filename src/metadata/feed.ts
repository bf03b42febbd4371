/**
 * The feed: what every reader is told, by topic: a channel, a station, a listener. It keeps the last now and next of every channel
 * in memory (polling, first messages and marks read them here), and hands each new message to whoever watches.
 * A message is rendered once and shared by all its watchers; its WebSocket frame is made on first use by http/watch.ts.
 *
 * Invariant: within one topic, watchers see versions rise. `subscribe` reads and registers without a pause in between.
 */

import type { TrackType } from './record.js';
import type { ChannelFace, RecordView } from './view.js';

/** One message to readers: a record as JSON. `slot` names what a newer message replaces for a slow reader. */
export class Message {
  readonly slot: string;
  readonly json: string;
  /** `version` of the record: rises within one channel. */
  readonly id: string;
  /** The framed bytes, cached by whoever writes frames. */
  frame: readonly Buffer[] | undefined;

  constructor(slot: string, id: string, json: string) {
    this.slot = slot;
    this.id = id;
    this.json = json;
  }
}

export interface Watcher {
  tell(message: Message): void;
}

/** What a channel says right now. */
interface Last {
  readonly face: ChannelFace;
  now: RecordView | null;
  next: RecordView | null;
  nowMessage: Message | null;
  nextMessage: Message | null;
}

export type Sync = 'audio' | 'wire';

export class Feed {
  readonly #channels = new Map<string, Last>();
  readonly #stations = new Map<string, readonly string[]>();
  readonly #topics = new Map<string, Set<Watcher>>();

  /** Declares a station and its channels, in configured order. */
  addStation(station: string, faces: readonly ChannelFace[]): void {
    this.#stations.set(
      station,
      faces.map((face) => face.key),
    );
    for (const face of faces) {
      this.#channels.set(face.key, { face, now: null, next: null, nowMessage: null, nextMessage: null });
    }
  }

  face(channel: string): ChannelFace | undefined {
    return this.#channels.get(channel)?.face;
  }

  hasStation(station: string): boolean {
    return this.#stations.has(station);
  }

  /** The record in force, or null. Undefined: no such channel. */
  last(channel: string, type: TrackType): RecordView | null | undefined {
    return this.#channels.get(channel)?.[type];
  }

  /** The records in force of a station's channels, in configured order. */
  lastOfStation(station: string, types: readonly TrackType[]): RecordView[] {
    const views: RecordView[] = [];
    for (const key of this.#stations.get(station) ?? []) {
      for (const type of types) {
        const view = this.#channels.get(key)![type];
        if (view !== null) views.push(view);
      }
    }
    return views;
  }

  /** Sets what is in force without telling anybody: at start, and when a next is spent. */
  set(channel: string, type: TrackType, view: RecordView | null): void {
    const last = this.#channels.get(channel)!;
    last[type] = view;
    const message = view === null ? null : new Message(`${channel} ${type}`, String(view.record.version), view.json);
    if (type === 'now') last.nowMessage = message;
    else last.nextMessage = message;
  }

  /** A record takes effect: it is in force, and every watcher of the channel and its station is told. */
  publish(view: RecordView): void {
    const { channel, type } = view.record;
    this.set(channel, type, view);
    const last = this.#channels.get(channel)!;
    const message = (type === 'now' ? last.nowMessage : last.nextMessage)!;
    this.#tell(`channel ${channel}`, message);
    this.#tell(`station ${last.face.station}`, message);
  }

  /** A title of one listener's own stream. */
  publishListener(metaid: string, sync: Sync, message: Message): void {
    this.#tell(`listener ${sync} ${metaid}`, message);
  }

  /** First `next`, then `now` (some clients show the last frame whatever its type), then every change. */
  watchChannel(channel: string, watcher: Watcher): () => void {
    this.#first(channel, watcher);
    return this.#subscribe(`channel ${channel}`, watcher);
  }

  watchStation(station: string, watcher: Watcher): () => void {
    for (const channel of this.#stations.get(station) ?? []) this.#first(channel, watcher);
    return this.#subscribe(`station ${station}`, watcher);
  }

  /** A metaid need not play yet; the first messages are the caller's, who knows the session. */
  watchListener(metaid: string, sync: Sync, watcher: Watcher): () => void {
    return this.#subscribe(`listener ${sync} ${metaid}`, watcher);
  }

  /** Whether anybody watches this listener, in either timing: nothing is rendered for nobody. */
  isWatched(metaid: string, sync: Sync): boolean {
    return this.#topics.has(`listener ${sync} ${metaid}`);
  }

  #first(channel: string, watcher: Watcher): void {
    const last = this.#channels.get(channel)!;
    if (last.nextMessage !== null) watcher.tell(last.nextMessage);
    if (last.nowMessage !== null) watcher.tell(last.nowMessage);
  }

  #subscribe(topic: string, watcher: Watcher): () => void {
    let watchers = this.#topics.get(topic);
    if (watchers === undefined) this.#topics.set(topic, (watchers = new Set()));
    watchers.add(watcher);
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#topics.get(topic) === watchers) this.#topics.delete(topic);
    };
  }

  #tell(topic: string, message: Message): void {
    const watchers = this.#topics.get(topic);
    if (watchers !== undefined) for (const watcher of watchers) watcher.tell(message);
  }
}
