/**
 * The feed: messages to readers by topic (a channel, a station, a listener). It keeps the last now and next of every channel in
 * memory, for polls and first messages, and passes each new message to the topic's watchers. A message is rendered once and
 * shared by all of them; its WebSocket frame and its SSE event are made on first use.
 *
 * Invariant: within one topic, watchers see versions rise. A watcher is given the records in force and registered in one step; first
 * messages that it takes later leave out those published since.
 */

import { dropped, type TrackType } from '../metadata/record.js';
import { type ChannelFace, RecordView } from '../metadata/view.js';
import { orderName, Seen } from './seen.js';
import { Sequence } from './sequence.js';

/** A message to readers: a record as JSON. For a slow reader a newer message replaces one with the same `slot`. */
export class Message {
  readonly slot: string;
  readonly json: string;
  /** Says what its receiver has seen (seen.ts); in listener scope, a title of a session (listener/sessions/readable-session.ts). */
  readonly id: string;
  /** Rises with every message of this process. */
  readonly turn: number;
  /** WebSocket frame, SSE event with its id, and the event's data, cached by the connection that writes them first. */
  frame: Buffer | undefined;
  event: Buffer | undefined;
  data: Buffer | undefined;

  constructor(slot: string, id: string, json: string, turn = 0) {
    this.slot = slot;
    this.id = id;
    this.json = json;
    this.turn = turn;
  }
}

/** The first messages of a watcher, taken one by one: they take no memory, however many channels there are. */
export interface Firsts {
  /** Null: no more. */
  next(): Message | null;
  /** The id of the message that `next` returned last. */
  readonly id: string;
}

export interface Watcher {
  onMessage(message: Message): void;
  /** Takes the first messages, at once or one by one, before any later message. Absent: `onMessage` gets them. */
  onFirsts?(firsts: Firsts): void;
  /** Its channel or station was removed. */
  onEnded?(): void;
}

/** The records in force on a channel. */
interface LastRecords {
  face: ChannelFace;
  now: RecordView | null;
  next: RecordView | null;
  nowMessage: Message | null;
  nextMessage: Message | null;
  /** The last next, without text, if it was dropped; null: it was not, or there is a newer one. */
  dropped: { readonly view: RecordView; readonly message: Message; readonly issued: number } | null;
}

const NOTHING = { now: null, next: null, nowMessage: null, nextMessage: null, dropped: null };

interface Station {
  channels: readonly string[];
  /** Changes whenever a record in force does. */
  changes: number;
}

export type Sync = 'audio' | 'wire';

export class Feed {
  readonly #channels = new Map<string, LastRecords>();
  readonly #stations = new Map<string, Station>();
  readonly #topics = new Map<string, Set<Watcher>>();
  /** The order of all published messages. */
  readonly sequence = new Sequence();
  readonly #onListenerWatched: ((metaid: string, isWatched: boolean) => void)[] = [];
  #turn = 0;
  /** Counts for all stations, so that a station that is removed and comes back has new numbers. */
  #changes = 0;

  /**
   * Sets the stations and their channels, in configured order. Existing ones keep their records, rendered with the new face, and their watchers;
   * watchers of removed ones are ended.
   */
  change(stations: ReadonlyMap<string, readonly ChannelFace[]>): void {
    const gone = new Set([...this.#channels.keys()].map((key) => `channel ${key}`));
    for (const station of this.#stations.keys()) gone.add(`station ${station}`);
    const before = new Map(this.#channels);
    for (const station of this.#stations.keys()) if (!stations.has(station)) this.#stations.delete(station);
    this.#channels.clear();
    for (const [key, faces] of stations) {
      const station = this.#stations.get(key) ?? { channels: [], changes: 0 };
      this.#stations.set(key, station);
      station.channels = faces.map((face) => face.key);
      station.changes = ++this.#changes;
      gone.delete(`station ${key}`);
      for (const face of faces) {
        const last = before.get(face.key) ?? { face, ...NOTHING };
        this.#channels.set(face.key, last);
        gone.delete(`channel ${face.key}`);
        if (last.face !== face) this.#applyFace(last, face);
      }
    }
    for (const topic of gone) for (const watcher of this.#topics.get(topic) ?? []) watcher.onEnded?.();
  }

  /** Renders the records in force with the new face, without a message. First messages that were not taken yet get the new rendering. */
  #applyFace(last: LastRecords, face: ChannelFace): void {
    last.face = face;
    const { now, next, nowMessage, nextMessage } = last;
    if (now !== null) this.set(face.key, 'now', new RecordView(now.record, face), nowMessage!.turn);
    if (next !== null) this.set(face.key, 'next', new RecordView(next.record, face), nextMessage!.turn);
  }

  face(channel: string): ChannelFace | undefined {
    return this.#channels.get(channel)?.face;
  }

  hasStation(station: string): boolean {
    return this.#stations.has(station);
  }

  /** The record in force, or null. Undefined: unknown channel. */
  last(channel: string, type: TrackType): RecordView | null | undefined {
    return this.#channels.get(channel)?.[type];
  }

  /** Changes whenever the result of `lastOfStation` may. */
  changesOfStation(station: string): number {
    return this.#stations.get(station)?.changes ?? 0;
  }

  /** The records in force of a station's channels, in configured order. */
  lastOfStation(station: string, types: readonly TrackType[]): RecordView[] {
    const views: RecordView[] = [];
    for (const key of this.#stations.get(station)?.channels ?? []) {
      for (const type of types) {
        const view = this.#channels.get(key)![type];
        if (view !== null) views.push(view);
      }
    }
    return views;
  }

  /** Sets a record in force without a message: at the start, and when a next is spent. @param turn of its message; absent: a new one */
  set(channel: string, type: TrackType, view: RecordView | null, turn?: number): void {
    const last = this.#channels.get(channel);
    // It was removed since the record was committed.
    if (last === undefined) return;
    if (view === null && last[type] === null) return;
    last[type] = view;
    this.#stations.get(last.face.station)!.changes = ++this.#changes;
    if (view !== null) this.sequence.publish(stampOf(view));
    const message = view && new Message(`${channel} ${type}`, this.sequence.text, view.json, turn ?? ++this.#turn);
    if (type === 'now') last.nowMessage = message;
    else {
      last.nextMessage = message;
      last.dropped = null;
    }
  }

  /** Drops the next: watchers of the channel and its station get it without text. @returns the next without text; null: there was none */
  dropNext(channel: string): RecordView | null {
    const last = this.#channels.get(channel);
    const next = last?.next;
    if (last === undefined || !next) return null;
    const view = new RecordView(dropped(next.record), last.face);
    this.set(channel, 'next', null);
    // It was pushed without text: readers have it already.
    if (view.json === next.json) return null;
    const issued = this.sequence.dropPublished(stampOf(view));
    const message = new Message(`${channel} next`, this.sequence.text, view.json, ++this.#turn);
    last.dropped = { view, message, issued };
    this.#publishToReaders(last, message);
    return view;
  }

  /** The last next, without text, if it was dropped; else null. */
  droppedNext(channel: string): RecordView | null {
    return this.#channels.get(channel)?.dropped?.view ?? null;
  }

  /** A record takes effect: watchers of the channel and its station get it. */
  publish(view: RecordView): void {
    const { channel, type } = view.record;
    this.set(channel, type, view);
    const last = this.#channels.get(channel);
    if (last === undefined) return;
    this.#publishToReaders(last, (type === 'now' ? last.nowMessage : last.nextMessage)!);
  }

  #publishToReaders({ face }: LastRecords, message: Message): void {
    this.#publish(`channel ${face.key}`, message);
    this.#publish(`station ${face.station}`, message);
  }

  /** A title of one listener's own stream. */
  publishListener(metaid: string, sync: Sync, message: Message): void {
    this.#publish(`listener ${sync} ${metaid}`, message);
  }

  /**
   * Sends `next`, then `now` (some clients show the last frame whatever its type), then every change.
   * @param seen the id of the reader's last message on an earlier connection: what it has seen is not repeated
   */
  watchChannel(channel: string, watcher: Watcher, seen?: string): () => void {
    this.#begin([channel], watcher, seen);
    return this.#subscribe(`channel ${channel}`, watcher);
  }

  /** The same for each channel, in configured order. */
  watchStation(station: string, watcher: Watcher, seen?: string): () => void {
    this.#begin(this.#stations.get(station)?.channels ?? [], watcher, seen);
    return this.#subscribe(`station ${station}`, watcher);
  }

  /** The metaid need not play yet; the first messages are up to the caller, which has the session. */
  watchListener(metaid: string, sync: Sync, watcher: Watcher): () => void {
    const wasWatched = this.#hasWatchers(metaid);
    const end = this.#subscribe(`listener ${sync} ${metaid}`, watcher);
    if (this.#onListenerWatched.length === 0) return end;
    if (!wasWatched) for (const changed of this.#onListenerWatched) changed(metaid, true);
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      end();
      if (!this.#hasWatchers(metaid)) for (const changed of this.#onListenerWatched) changed(metaid, false);
    };
  }

  /** @param changed called when a listener gets its first watcher, of either timing, and when the last one has gone */
  onListenerWatched(changed: (metaid: string, isWatched: boolean) => void): void {
    this.#onListenerWatched.push(changed);
  }

  /** Whether this listener has watchers in this timing; else nothing needs to be rendered. */
  isWatched(metaid: string, sync: Sync): boolean {
    return this.#topics.has(`listener ${sync} ${metaid}`);
  }

  #hasWatchers(metaid: string): boolean {
    return this.isWatched(metaid, 'audio') || this.isWatched(metaid, 'wire');
  }

  #begin(channels: readonly string[], watcher: Watcher, seen: string | undefined): void {
    const firsts = this.#firsts(channels, Seen.read(seen, orderName(channels)));
    if (watcher.onFirsts !== undefined) watcher.onFirsts(firsts);
    else for (let message = firsts.next(); message !== null; message = firsts.next()) watcher.onMessage(message);
  }

  /** Two places for each channel: next, now. Messages published since are left out. */
  #firsts(channels: readonly string[], seen: Seen): Firsts {
    const { text: covered } = this.sequence;
    const turn = this.#turn;
    let index = -1;
    const next = () => {
      while (++index < 2 * channels.length) {
        const last = this.#channels.get(channels[index >> 1]!);
        if (last === undefined) continue;
        const { now, next, nowMessage, nextMessage, dropped } = last;
        const [view, message] = index % 2 === 0 ? [next, nextMessage] : [now, nowMessage];
        if (message !== null && message.turn <= turn && !seen.has(index, stampOf(view!))) return message;
        if (index % 2 === 1 || dropped === null || dropped.message.turn > turn) continue;
        if (seen.missesDrop(index, stampOf(dropped.view), dropped.issued)) return dropped.message;
      }
      return null;
    };
    return {
      next,
      get id() {
        return index === 2 * channels.length - 1 ? covered : seen.idAfter(index, covered);
      },
    };
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

  #publish(topic: string, message: Message): void {
    const watchers = this.#topics.get(topic);
    if (watchers !== undefined) for (const watcher of watchers) watcher.onMessage(message);
  }
}

/** A record stored by a version without stamps precedes all others. */
export function stampOf(view: RecordView): number {
  return view.record.stamp ?? 1;
}
