/**
 * The store of tests. It keeps states as JSON text, so that loaded ones are as from a disk, and callers cannot change stored ones.
 */

import type { Clock } from '../../src/base/clock.js';
import { SteadyTime } from '../../src/base/steady-time.js';
import type { ChannelState, HistoryEntry } from '../../src/now-playing/state.js';
import { areFromAhead, begunIn, LastBegun, putBefore } from '../../src/store/from-ahead.js';
import {
  type FigureChange,
  type FigurePage,
  type HistoryBounds,
  type HistoryPage,
  isKnown,
  isTooOld,
  OWN_CLOCK,
  PRUNE_STEP,
  type Store,
  type StoredFigure,
} from '../../src/store/store.js';
import { type HistoryKey, historyKey, isSamePlay } from '../../src/store/stored.js';

export class MemoryStore implements Store {
  readonly #texts = new Map<string, string>();
  readonly #documents = new Map<string, string>();
  /** Oldest first. */
  readonly #history = new Map<string, HistoryEntry[]>();
  /** Kind → scope → time → figures. */
  readonly #figures = new Map<string, Map<string, Map<number, string>>>();
  readonly #bounds: HistoryBounds;
  readonly #clock: Pick<Clock, 'now' | 'wallMs'>;
  readonly #time: SteadyTime;
  readonly #begun = new LastBegun();
  #closed = false;

  constructor(bounds: HistoryBounds = { days: 30, entries: 10_000 }, clock: Pick<Clock, 'now' | 'wallMs'> = OWN_CLOCK) {
    this.#bounds = bounds;
    this.#clock = clock;
    this.#time = new SteadyTime(clock);
  }

  load(channel: string): ChannelState | undefined {
    const text = this.#texts.get(channel);
    return text === undefined ? undefined : JSON.parse(text);
  }

  async save(
    channel: string,
    state: ChannelState,
    history: readonly HistoryEntry[] = [],
    gone: readonly HistoryEntry[] = [],
  ): Promise<void> {
    if (this.#closed) throw new Error('The store is closed');
    this.#texts.set(channel, JSON.stringify(state));
    const isGone = (entry: HistoryEntry) => gone.some((other) => isSamePlay(other, entry));
    this.#history.set(channel, this.#history.get(channel)?.filter((entry) => !isGone(entry)) ?? []);
    for (const entry of history) this.#put(channel, structuredClone(entry));
    const begun = begunIn(history, state.onAirSinceMs);
    if (begun === undefined) return;
    this.#putInPlace(channel, begun.fromMs);
    this.#begun.note(channel, begun.fromMs, this.#clock.now());
  }

  #putInPlace(channel: string, fromMs: number): void {
    const entries = this.#history.get(channel) ?? [];
    const above = entries.filter((entry) => entry.fromMs > fromMs);
    if (!areFromAhead(above, fromMs, this.#time)) return;
    const rest = entries.filter((entry) => entry.fromMs <= fromMs);
    const below = rest.findLast((entry) => entry.fromMs < fromMs);
    const placed = putBefore(above, below, fromMs, this.#begun.agoMs(channel, above.at(-1)!.fromMs, this.#clock.now()));
    const others = rest.filter((entry) => entry !== below);
    const all = [...others, ...(placed.below === undefined ? [] : [placed.below]), ...placed.above];
    this.#history.set(
      channel,
      all.sort((one, other) => one.fromMs - other.fromMs),
    );
  }

  history(channel: string, { limit, beforeMs = Number.POSITIVE_INFINITY }: HistoryPage): HistoryEntry[] {
    const entries = this.#history.get(channel) ?? [];
    const page = entries.filter(({ fromMs }) => fromMs < beforeMs).toReversed();
    return page.filter((entry) => !isTooOld(entry, this.#bounds, this.#time.ms())).slice(0, limit);
  }

  hasEntry(channel: string, entry: HistoryEntry): boolean {
    return this.#history.get(channel)?.some((there) => isSamePlay(there, entry) && isKnown(there, entry)) ?? false;
  }

  figures(kind: string, scope: string, { fromMs, beforeMs, limit }: FigurePage): StoredFigure[] {
    const all = [...(this.#figures.get(kind)?.get(scope) ?? [])].map(([atMs, text]) => ({ atMs, text }));
    const page = all.filter(({ atMs }) => atMs >= fromMs && atMs < beforeMs);
    return page.sort((a, b) => a.atMs - b.atMs).slice(0, limit);
  }

  figureScopes(kind: string): string[] {
    const scopes = [...(this.#figures.get(kind) ?? [])].filter(([, figures]) => figures.size > 0);
    return scopes.map(([scope]) => scope).sort();
  }

  figureCount(kind: string, scope: string): number {
    return this.#figures.get(kind)?.get(scope)?.size ?? 0;
  }

  async saveFigures(figures: readonly FigureChange[]): Promise<void> {
    if (this.#closed) throw new Error('The store is closed');
    for (const [[kind, scope, atMs], text] of figures) {
      const scopes = this.#figures.get(kind) ?? new Map<string, Map<number, string>>();
      const there = scopes.get(scope) ?? new Map<number, string>();
      if (text === undefined) there.delete(atMs);
      else there.set(atMs, text);
      this.#figures.set(kind, scopes.set(scope, there));
    }
  }

  document(name: string): unknown {
    const text = this.#documents.get(name);
    return text === undefined ? undefined : JSON.parse(text);
  }

  async saveDocument(name: string, value: unknown): Promise<void> {
    if (this.#closed) throw new Error('The store is closed');
    this.#documents.set(name, JSON.stringify(value));
  }

  fault(): null {
    return null;
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #put(channel: string, entry: HistoryEntry): void {
    const entries = this.#history.get(channel) ?? [];
    const formerly = entries.findIndex((other) => isSamePlay(other, entry));
    if (formerly !== -1 && entries[formerly]!.toMs !== null && entry.toMs === null) return;
    if (formerly !== -1) entries.splice(formerly, 1);
    const at = entries.findIndex((other) => !isBefore(historyKey(channel, other), historyKey(channel, entry)));
    entries.splice(at === -1 ? entries.length : at, 0, entry);
    this.#history.set(channel, entries);
    if (formerly !== -1) return;
    for (let i = 0; i < PRUNE_STEP; i++) {
      const isOver = entries.length > this.#bounds.entries || isTooOld(entries[0]!, this.#bounds, this.#time.ms());
      if (isOver) entries.shift();
    }
  }
}

function isBefore([, ...one]: HistoryKey, [, ...other]: HistoryKey): boolean {
  const at = one.findIndex((member, i) => member !== other[i]);
  return at !== -1 && one[at]! < other[at]!;
}
