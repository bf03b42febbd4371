/**
 * The plays of all channels: those that wait for the next save replace those in the store. Titles on air begin and end plays, processes add their
 * audience. A play that was moved, because the clock had been ahead, is found by its old key as long as processes may report audience for that.
 * Owned by recorder.ts, which saves.
 */

import type { Clock } from '../base/clock.js';
import type { SteadyTime } from '../base/steady-time.js';
import type { HistoryEntry } from '../now-playing/state.js';
import { areFromAhead, LastBegun, MAX_FROM_AHEAD } from '../store/from-ahead.js';
import type { FigureChange, FigureKey, Store } from '../store/store.js';
import { PERIOD_MS, type TitleRow } from './figures.js';
import { type NamedPlay, type PlayedTitle, playKey, playsBefore, withAudience, withEntry } from './plays.js';

/** The kind of figures in the store that are plays. */
export const TITLE_KIND = 'title';
/** A last title older than this says nothing about the time: the station may have paused. */
export const MAX_PAUSE_MS = 60 * 86_400_000;

interface MovedPlay {
  readonly channel: string;
  readonly wasMs: number;
  readonly isMs: number;
  /** When it was moved, monotonic milliseconds. */
  readonly atMs: number;
}

/** Changes for one save. */
interface PlayChanges {
  readonly plays: readonly (readonly [channel: string, atMs: number, play: PlayedTitle])[];
  readonly moved: readonly MovedPlay[];
}

export class KeptPlays {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #onChange: () => void;
  /** Plays to be stored, by channel and key. */
  #waiting = new Map<string, Map<number, PlayedTitle>>();
  /** The same, of the save under way: the store still has the former plays. */
  #saving: ReadonlyMap<string, ReadonlyMap<number, PlayedTitle>> = new Map();
  readonly #counts = new Map<string, number>();
  readonly #begun = new LastBegun();
  /** Moved plays, by channel and old key; the old key is removed from the store. */
  readonly #moved = new Map<string, MovedPlay>();

  /** @param onChange called when there is something to save */
  constructor(clock: Clock, store: Store, onChange: () => void) {
    this.#clock = clock;
    this.#store = store;
    this.#onChange = onChange;
  }

  /** Entries of a channel's history are new or have changed. @param time that does not jump with the wall clock */
  onTitle(channel: string, entries: readonly HistoryEntry[], time: SteadyTime): void {
    for (const entry of entries) {
      const known = this.#play(channel, playKey(entry));
      const play = withEntry(known, entry);
      if (play === known) continue;
      this.#set(channel, playKey(entry), play);
      if (known === undefined) this.#counts.set(channel, this.count(channel) + 1);
    }
    const begun = entries.findLast(({ toMs }) => toMs === null);
    if (begun !== undefined) this.#moveFuture(channel, playKey(begun), time);
  }

  addAudience([channel, namedMs, performances, listenedMs]: TitleRow): void {
    const atMs = this.#moved.get(nameOf(channel, namedMs))?.isMs ?? namedMs;
    const play = this.#play(channel, atMs);
    // A title on air is in the history or came with a change, except one without text.
    if (play !== undefined) this.#set(channel, atMs, withAudience(play, performances, listenedMs));
  }

  /** Number of a channel's plays. Cached, since the store counts them one by one. */
  count(channel: string): number {
    let count = this.#counts.get(channel);
    if (count === undefined) this.#counts.set(channel, (count = this.#store.figureCount(TITLE_KIND, channel)));
    return count;
  }

  /** Takes the changes for a save, which ends with `onSaved` or `putBack`. */
  take(): PlayChanges {
    const plays = [...this.#waiting].flatMap(([channel, each]) =>
      [...each].map(([atMs, play]) => [channel, atMs, play] as const),
    );
    this.#saving = this.#waiting;
    this.#waiting = new Map();
    return { plays, moved: [...this.#moved.values()] };
  }

  put({ plays, moved }: PlayChanges, put: (key: FigureKey, text: string | undefined) => void): void {
    for (const { channel, wasMs } of moved) put([TITLE_KIND, channel, wasMs], undefined);
    for (const [channel, atMs, play] of plays) put([TITLE_KIND, channel, atMs], JSON.stringify(play));
  }

  onSaved({ moved }: PlayChanges): void {
    this.#saving = new Map();
    const beforeMs = this.#clock.now() - 2 * PERIOD_MS.minute;
    for (const { channel, wasMs, atMs } of moved) if (atMs < beforeMs) this.#moved.delete(nameOf(channel, wasMs));
  }

  /** These figures, of whatever kind, have been removed because of their age or number. */
  onExpired(removed: readonly FigureChange[]): void {
    for (const [[kind, channel]] of removed) {
      if (kind === TITLE_KIND) this.#counts.set(channel, this.count(channel) - 1);
    }
  }

  /** The save failed: its plays wait again, except those that have changed since. */
  putBack({ plays }: PlayChanges): void {
    this.#saving = new Map();
    for (const [channel, atMs, play] of plays) {
      if (this.#waiting.get(channel)?.has(atMs) !== true) this.#set(channel, atMs, play);
    }
  }

  /** A title begins: plays in the future, recorded while the clock was ahead, are moved before it. */
  #moveFuture(channel: string, atMs: number, time: SteadyTime): void {
    const nowMs = this.#clock.now();
    if (atMs >= this.#begun.latestMs(channel)) {
      this.#begun.note(channel, atMs, nowMs);
      return;
    }
    const above = this.#playsIn(channel, atMs + 1, Number.MAX_SAFE_INTEGER, MAX_FROM_AHEAD + 1);
    const stretches = above.map(([fromMs, { toMs }]) => ({ fromMs, toMs }));
    this.#begun.includeAll(channel, atMs, stretches);
    const isMoved = areFromAhead(stretches, atMs, time);
    const agoMs = isMoved ? this.#begun.agoMs(channel, above.at(-1)![0], nowMs) : 0;
    this.#begun.note(channel, atMs, nowMs);
    if (!isMoved) return;
    const below = this.#playsIn(channel, atMs - MAX_PAUSE_MS, atMs, Number.MAX_SAFE_INTEGER).at(-1);
    for (const [wasMs, [isMs, play]] of playsBefore(above, below, atMs, agoMs)) {
      if (wasMs !== isMs) {
        this.#waiting.get(channel)?.delete(wasMs);
        this.#moved.set(nameOf(channel, wasMs), { channel, wasMs, isMs, atMs: nowMs });
      }
      this.#set(channel, isMs, play);
    }
  }

  /** Stored plays and those to be stored, in order. */
  #playsIn(channel: string, fromMs: number, beforeMs: number, limit: number): NamedPlay[] {
    const stored = this.#store.figures(TITLE_KIND, channel, { fromMs, beforeMs, limit });
    const plays = new Map(stored.map(({ atMs, text }) => [atMs, JSON.parse(text) as PlayedTitle]));
    for (const unsaved of [this.#saving, this.#waiting]) {
      for (const [atMs, play] of unsaved.get(channel) ?? [])
        if (atMs >= fromMs && atMs < beforeMs) plays.set(atMs, play);
    }
    for (const moved of this.#moved.values()) if (moved.channel === channel) plays.delete(moved.wasMs);
    return [...plays].sort(([one], [other]) => one - other);
  }

  #play(channel: string, atMs: number): PlayedTitle | undefined {
    const unsaved = this.#waiting.get(channel)?.get(atMs) ?? this.#saving.get(channel)?.get(atMs);
    if (unsaved !== undefined || atMs > this.#begun.latestMs(channel)) return unsaved;
    const page = { fromMs: atMs, beforeMs: atMs + 1, limit: 1 };
    const [stored] = this.#store.figures(TITLE_KIND, channel, page);
    return stored && (JSON.parse(stored.text) as PlayedTitle);
  }

  #set(channel: string, atMs: number, play: PlayedTitle): void {
    const plays = this.#waiting.get(channel) ?? new Map<number, PlayedTitle>();
    this.#waiting.set(channel, plays.set(atMs, play));
    this.#begun.include(channel, atMs);
    this.#onChange();
  }
}

function nameOf(channel: string, atMs: number): string {
  return `${channel} ${atMs}`;
}
