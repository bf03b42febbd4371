/**
 * Keeps the figures of all processes, at the hub: adds each minute's rows to their periods and plays, and stores what has changed.
 *
 *   rows of a minute ─► minute, hour, day ─► transactions each few seconds, which also remove the oldest
 *
 * Invariants: a minute of a channel or station is stored completely or not; a failed save is retried with the next one. Only current periods and
 * plays that wait for a save (kept-plays.ts) are in memory; a period that a restart has interrupted is read again first. Salts and sketches are
 * removed when their day has ended.
 */

import type { Clock } from '../base/clock.js';
import { SteadyTime } from '../base/steady-time.js';
import type { HistoryEntry } from '../now-playing/state.js';
import type { FigureChange, FigureKey, Store } from '../store/store.js';
import { isFigureRow, isMinuteFigures, isTitleRow } from './figure-checks.js';
import { DIMENSIONS, type FigureRow, type MinuteFigures, PERIOD_MS, PERIODS, type Period, startOf } from './figures.js';
import { KeptPlays, MAX_PAUSE_MS, TITLE_KIND } from './kept-plays.js';
import { type DaySalt, saltsFor } from './salts.js';
import { Sketch } from './sketch.js';
import { inTransactions, Slices } from './sliced-work.js';
import { Slot, type StoredSketches } from './slot.js';
import { StoredAges } from './stored-ages.js';

export interface KeptStatistics {
  readonly enabled: boolean;
  readonly minutesKept: number;
  readonly hoursKept: number;
  readonly rowsPerHour: number;
  readonly titleDays: number;
  readonly titlesPerChannel: number;
}

/** Kinds of figures in the store. */
const SALT_KIND = 'salt';
const sketchKind = (period: Period) => `sketch ${period}`;
/** The kind of a period's totals, or of its values of a dimension. */
export const figureKind = (period: Period, dimension?: string) =>
  dimension === undefined ? period : `${period} ${dimension}`;

/** From the first row of a minute until it is stored: time for the other processes' rows. */
const GATHER_MS = 2000;
/** A period is kept in memory for this long after its end. */
const LATE_MS = 300_000;
/** Entries of each channel's history that are read at the start, for those since the last save. */
const ENTRIES_READ = 200;

export class Recorder {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #kept: () => KeptStatistics;
  readonly #onError: (error: unknown) => void;
  readonly #isKnown: (scope: string) => boolean;
  readonly #slots: Readonly<Record<Period, Map<string, Slot>>> = { minute: new Map(), hour: new Map(), day: new Map() };
  readonly #plays: KeptPlays;
  readonly #ages: StoredAges;
  /** The time by which salts and sketches expire: it does not jump with the wall clock. */
  #time: SteadyTime;
  /** The same for longer retention; also right if the clock was wrong when this process started. */
  #ageTime: SteadyTime;
  #salts: readonly DaySalt[] = [];
  #saveAtMs = Number.POSITIVE_INFINITY;
  /** Adds and saves run one after the other. */
  #work: Promise<void> = Promise.resolve();
  readonly #onSalts: (salts: readonly DaySalt[]) => void;

  /** @param isKnown whether there is such a channel or station @param onSalts the salts have changed */
  constructor(
    clock: Clock,
    store: Store,
    kept: () => KeptStatistics,
    onError: (error: unknown) => void,
    isKnown: (scope: string) => boolean = () => true,
    onSalts: (salts: readonly DaySalt[]) => void = () => undefined,
  ) {
    this.#onSalts = onSalts;
    this.#clock = clock;
    this.#store = store;
    this.#kept = kept;
    this.#onError = onError;
    this.#isKnown = isKnown;
    this.#plays = new KeptPlays(clock, store, () => this.#scheduleSave());
    this.#ages = new StoredAges(store);
    this.#time = this.#ageTime = new SteadyTime(clock);
  }

  get salts(): readonly DaySalt[] {
    return this.#salts;
  }

  /** At the start: reads the day's salts, and titles since the last save; for a new store only those on air. */
  restore(channels: Iterable<string>): void {
    const all = { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER, limit: 8 };
    const wallMs = this.#clock.wallMs();
    this.#time = new SteadyTime(this.#clock);
    let lastMs = 0;
    this.#salts = this.#store.figures(SALT_KIND, '', all).map(({ atMs, text }) => [atMs, text]);
    this.#renewSalts();
    for (const channel of channels) {
      const isNew = this.#plays.count(channel) === 0;
      const [last] = this.#store.history(channel, { limit: 1 });
      if (last !== undefined && last.fromMs <= wallMs) lastMs = Math.max(lastMs, last.fromMs);
      const missed = this.#store.history(channel, { limit: isNew ? 1 : ENTRIES_READ }).reverse();
      this.onTitle(channel, isNew ? missed.filter(({ toMs }) => toMs === null) : missed);
    }
    const isNear = wallMs - lastMs < MAX_PAUSE_MS;
    this.#ageTime = new SteadyTime(this.#clock, isNear ? lastMs : wallMs);
  }

  /** A change has added or changed these entries of a channel's history. */
  onTitle(channel: string, entries: readonly HistoryEntry[]): void {
    if (this.#kept().enabled) this.#plays.onTitle(channel, entries, this.#time);
  }

  /** Adds the figures of a process. @param process its number */
  add(figures: MinuteFigures, process: number): void {
    const isMinute = isMinuteFigures(figures, this.#clock.wallMs(), this.#time.ms());
    this.#work = this.#work.then(() => this.#add(figures, process, isMinute)).catch(this.#onError);
    this.#scheduleSave();
  }

  /** Called each second. */
  onSecond(): void {
    const days = saltsFor(this.#clock.wallMs(), this.#salts, this.#time.ms());
    if (days.length !== this.#salts.length || days.some(([day], i) => day !== this.#salts[i]![0])) this.#renewSalts();
    if (this.#clock.now() < this.#saveAtMs) return;
    this.#saveAtMs = Number.POSITIVE_INFINITY;
    void this.save();
  }

  /** Stores what has changed; never rejects. */
  save(): Promise<void> {
    this.#work = this.#work.then(() => this.#save());
    return this.#work;
  }

  /** Leaves out impossible rows; an error says how many. */
  async #add(figures: MinuteFigures, process: number, isMinute: boolean): Promise<void> {
    if (!isMinute) throw new Error(`process ${process} reported figures for an impossible minute: ignoring them`);
    const { minuteMs, saltDayMs, rows, titles } = figures;
    const rest = new Slices();
    let wrong = 0;
    for (const row of rows) {
      if (!isFigureRow(row) || !this.#addRow(row, minuteMs, saltDayMs, process)) wrong++;
      const turn = rest.pause();
      if (turn !== undefined) await turn;
    }
    for (const title of titles) {
      if (isTitleRow(title)) this.#plays.addAudience(title);
      else wrong++;
    }
    if (wrong > 0) throw new Error(`process ${process} reported impossible figures: ignoring ${wrong} rows`);
  }

  #scheduleSave(): void {
    this.#saveAtMs = Math.min(this.#saveAtMs, this.#clock.now() + GATHER_MS);
  }

  /** False: there is no such channel or station. */
  #addRow(row: FigureRow, minuteMs: number, saltDayMs: number | null, process: number): boolean {
    if (!this.#has(row[0], minuteMs)) return false;
    const { rowsPerHour } = this.#kept();
    const sketch = saltDayMs === startOf('day', minuteMs) ? Sketch.of(row[8]) : null;
    let peak = 0;
    for (const period of PERIODS) {
      const slot = this.#slotOf(period, row[0], startOf(period, minuteMs));
      const ofProcess = slot.add(row, process, sketch, rowsPerHour);
      if (period === 'minute') peak = ofProcess;
      else slot.raise(row, peak, rowsPerHour);
    }
    return true;
  }

  /** True also for a scope that a reload has just removed and that has figures for this day. */
  #has(scope: string, minuteMs: number): boolean {
    return this.#slots.day.has(`${startOf('day', minuteMs)} ${scope}`) || this.#isKnown(scope);
  }

  #slotOf(period: Period, scope: string, atMs: number): Slot {
    const key = `${atMs} ${scope}`;
    let slot = this.#slots[period].get(key);
    if (slot === undefined) {
      slot = this.#read(period, scope, atMs);
      this.#slots[period].set(key, slot);
    }
    return slot;
  }

  #read(period: Period, scope: string, atMs: number): Slot {
    const slot = new Slot(scope, atMs);
    const text = (kind: string) =>
      this.#store.figures(kind, scope, { fromMs: atMs, beforeMs: atMs + 1, limit: 1 })[0]?.text;
    const total = text(figureKind(period));
    if (total === undefined) return slot;
    const sketches: StoredSketches = JSON.parse(text(sketchKind(period)) ?? '{}');
    slot.restoreTotal(JSON.parse(total), sketches);
    for (const dimension of DIMENSIONS) {
      slot.restore(dimension, JSON.parse(text(figureKind(period, dimension)) ?? '{}'), sketches);
    }
    return slot;
  }

  async #save(): Promise<void> {
    const plays = this.#plays.take();
    const slots = PERIODS.flatMap((period) =>
      [...this.#slots[period].values()].filter(({ isDirty }) => isDirty).map((slot) => ({ period, slot })),
    );
    for (const { slot } of slots) slot.isDirty = false;
    slots.sort((one, other) => Number(one.slot.scope > other.slot.scope) - Number(one.slot.scope < other.slot.scope));
    try {
      const rest = new Slices();
      const expired = await this.#expired(rest);
      const rows = new Map<string, FigureChange>();
      const put = (key: FigureKey, text: string | undefined) => rows.set(key.join('\n'), [key, text]);
      for (const [day, salt] of this.#salts) put([SALT_KIND, '', day], salt);
      for (const { period, slot } of slots) {
        this.#putSlot(period, slot, put);
        const turn = rest.pause();
        if (turn !== undefined) await turn;
      }
      this.#plays.put(plays, put);
      for (const some of inTransactions(rows.values())) {
        await this.#store.saveFigures(some);
        this.#ages.onSaved(some);
      }
      for (const some of inTransactions(expired.map((key) => [key, undefined]))) {
        await this.#store.saveFigures(some);
        this.#plays.onExpired(some);
      }
      this.#plays.onSaved(plays);
      this.#forget();
    } catch (error) {
      for (const { slot } of slots) slot.isDirty = true;
      this.#plays.putBack(plays);
      this.#onError(error);
      this.#scheduleSave();
    }
  }

  #putSlot(period: Period, slot: Slot, put: (key: FigureKey, text: string) => void): void {
    const { scope, atMs } = slot;
    const { rowsPerHour } = this.#kept();
    put([figureKind(period), scope, atMs], JSON.stringify(slot.total));
    for (const dimension of DIMENSIONS) {
      const stored = slot.stored(dimension, rowsPerHour);
      if (Object.keys(stored).length > 0) put([figureKind(period, dimension), scope, atMs], JSON.stringify(stored));
    }
    if (period !== 'minute') put([sketchKind(period), scope, atMs], JSON.stringify(slot.sketches(rowsPerHour)));
  }

  /** Figures beyond the configured age or number. */
  async #expired(rest: Slices): Promise<FigureKey[]> {
    const { minutesKept, hoursKept, titleDays, titlesPerChannel } = this.#kept();
    const [ageMs, steadyMs] = [this.#ageTime.ms(), this.#time.ms()];
    const expired: FigureKey[] = [];
    const prune = async (kind: string, beforeMs: number, surplusOf?: (scope: string) => number) => {
      for (const key of await this.#ages.expired(kind, beforeMs, rest, surplusOf)) expired.push(key);
    };
    for (const period of PERIODS) {
      const beforeMs = ageMs - (period === 'minute' ? minutesKept * PERIOD_MS.minute : hoursKept * PERIOD_MS.hour);
      for (const dimension of [undefined, ...DIMENSIONS]) await prune(figureKind(period, dimension), beforeMs);
      if (period !== 'minute') await prune(sketchKind(period), startOf(period, steadyMs));
    }
    await prune(SALT_KIND, startOf('day', steadyMs));
    const surplusOf = (channel: string) => this.#plays.count(channel) - titlesPerChannel;
    await prune(TITLE_KIND, ageMs - titleDays * PERIOD_MS.day, surplusOf);
    return expired;
  }

  /** Drops periods that have ended from memory. */
  #forget(): void {
    const wallMs = this.#clock.wallMs();
    for (const period of PERIODS) {
      for (const [key, slot] of this.#slots[period]) {
        if (!slot.isDirty && slot.atMs + PERIOD_MS[period] + LATE_MS < wallMs) this.#slots[period].delete(key);
      }
    }
  }

  #renewSalts(): void {
    this.#salts = saltsFor(this.#clock.wallMs(), this.#salts, this.#time.ms());
    this.#scheduleSave();
    this.#onSalts(this.#salts);
  }
}
