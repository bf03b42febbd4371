/** A store whose saves are timed, so that log, metrics and alerts name the disk when titles come late. */

import { Durations } from '../base/counts.js';
import type { HistoryEntry } from '../now-playing/state.js';
import type { FigurePage, HistoryPage, Store } from './store.js';

/** A flush takes milliseconds; a disk that others keep busy was seen to take seconds. */
const SLOW_MS = 1000;
/** Upper bounds, seconds. */
const BOUNDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
/** `slowestMs` covers between one and two such spans. */
const SPAN_MS = 30_000;

/** How long saves take: plain fields, read when asked. */
export class SaveTimes {
  readonly durations = new Durations(BOUNDS);
  /** The saves under way, oldest first. */
  readonly #underWay = new Set<{ readonly startMs: number }>();
  #spanMs = Number.NEGATIVE_INFINITY;
  #slowestMs = 0;
  #slowestBeforeMs = 0;

  /** @param save resolves or rejects when it has ended @param onEnded called then, with how long it took */
  async time(save: () => Promise<void>, onEnded: (tookMs: number) => void): Promise<void> {
    const begun = { startMs: performance.now() };
    this.#underWay.add(begun);
    try {
      await save();
    } finally {
      this.#underWay.delete(begun);
      const nowMs = performance.now();
      const tookMs = nowMs - begun.startMs;
      this.durations.add(tookMs / 1000);
      this.#turn(nowMs);
      this.#slowestMs = Math.max(this.#slowestMs, tookMs);
      onEnded(tookMs);
    }
  }

  /** The slowest save of the last 30 to 60 s, including those under way; milliseconds. */
  slowestMs(): number {
    const nowMs = performance.now();
    this.#turn(nowMs);
    const [oldest] = this.#underWay;
    const underWayMs = oldest === undefined ? 0 : nowMs - oldest.startMs;
    return Math.max(this.#slowestMs, this.#slowestBeforeMs, underWayMs);
  }

  #turn(nowMs: number): void {
    if (nowMs - this.#spanMs < SPAN_MS) return;
    this.#slowestBeforeMs = nowMs - this.#spanMs < 2 * SPAN_MS ? this.#slowestMs : 0;
    this.#slowestMs = 0;
    this.#spanMs = nowMs;
  }
}

/** @param onSlow called for each save that took `slowMs` or longer, once it has ended, well or not */
export function timed(
  store: Store,
  onSlow: (channel: string, tookMs: number) => void,
  slowMs = SLOW_MS,
  times = new SaveTimes(),
): Store {
  return {
    load: (channel: string) => store.load(channel),
    save: (channel, state, history, gone) =>
      times.time(
        () => store.save(channel, state, history, gone),
        (tookMs) => {
          if (tookMs >= slowMs) onSlow(channel, Math.round(tookMs));
        },
      ),
    history: (channel: string, page: HistoryPage) => store.history(channel, page),
    hasEntry: (channel: string, entry: HistoryEntry) => store.hasEntry(channel, entry),
    figures: (kind: string, scope: string, page: FigurePage) => store.figures(kind, scope, page),
    figureScopes: (kind: string) => store.figureScopes(kind),
    figureCount: (kind: string, scope: string) => store.figureCount(kind, scope),
    saveFigures: (figures) => store.saveFigures(figures),
    document: (name: string) => store.document(name),
    saveDocument: (name: string, value: unknown) => store.saveDocument(name, value),
    fault: () => store.fault(),
    close: () => store.close(),
  };
}
