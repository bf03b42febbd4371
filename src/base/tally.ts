/**
 * Counts by key over several processes: this one's own, and those last reported by the others. A limit on them holds for all processes together,
 * except for changes whose report is on its way.
 *
 *   own       a 3 · b 1            changed    b: was reported as 0           a key exists while its count is not 0, or until the 0 is reported
 *   others    a 2 · c 4            count(a) 5
 *
 * A single process has no others, and records no changes. Invariant: `changed` has only keys whose count differs from the last report, so a crowd
 * that comes and goes never needs more than twice as many entries as its size. Made and shared by Tallies.
 */
export class Tally {
  readonly #own = new Map<string, number>();
  readonly #others = new Map<string, number>();
  /** Key → count in the last report. Null: not shared. */
  #changed: Map<string, number> | null = null;
  /** Number of keys that are in both maps. */
  #both = 0;
  readonly #onChange: () => void;
  readonly #onOthers: ((key: string, count: number) => void)[] = [];

  /** @param onChange called when the first change since the last report is recorded */
  constructor(onChange: () => void = () => undefined) {
    this.#onChange = onChange;
  }

  own(key: string): number {
    return this.#own.get(key) ?? 0;
  }

  others(key: string): number {
    return this.#others.size === 0 ? 0 : (this.#others.get(key) ?? 0);
  }

  /** The count of all processes. */
  count(key: string): number {
    return this.own(key) + this.others(key);
  }

  /** Number of keys that only other processes have. */
  get remoteCount(): number {
    return this.#others.size - this.#both;
  }

  /** The counts of the other processes. */
  get ofOthers(): ReadonlyMap<string, number> {
    return this.#others;
  }

  /** Keys whose own count is not 0. */
  keys(): string[] {
    return [...this.#own.keys()];
  }

  add(key: string, change: number): void {
    if (change === 0) return;
    const before = this.own(key);
    const now = before + change;
    if (now === 0) this.#own.delete(key);
    else this.#own.set(key, now);
    if (this.#changed === null) return;
    const said = this.#changed.get(key);
    if (said === undefined) {
      this.#changed.set(key, before);
      if (this.#changed.size === 1) this.#onChange();
    } else if (said === now) this.#changed.delete(key);
    if (this.#others.has(key)) this.#both += Number(now !== 0) - Number(before !== 0);
  }

  /** Replaces the own count of a key. */
  set(key: string, count: number): void {
    this.add(key, count - this.own(key));
  }

  /** Records changes from now on; all present counts become part of the next report. */
  share(): void {
    this.#changed = new Map();
    for (const key of this.#own.keys()) this.#changed.set(key, 0);
    if (this.#changed.size > 0) this.#onChange();
  }

  /** Takes the next report: at most `max` changed keys with their counts, oldest change first. */
  take(max: number): TallyRow[] {
    const rows: TallyRow[] = [];
    if (this.#changed === null || this.#changed.size === 0) return rows;
    for (const key of this.#changed.keys()) {
      if (rows.length >= max) break;
      rows.push([key, this.own(key)]);
      this.#changed.delete(key);
    }
    return rows;
  }

  setOthers(key: string, count: number): void {
    const had = this.#others.has(key);
    if (count === 0) this.#others.delete(key);
    else this.#others.set(key, count);
    if (this.#own.has(key)) this.#both += Number(count !== 0) - Number(had);
    for (const changed of this.#onOthers) changed(key, count);
  }

  /** @param changed called when the others' count of a key has changed */
  onOthers(changed: (key: string, count: number) => void): void {
    this.#onOthers.push(changed);
  }

  forgetOthers(): void {
    for (const key of [...this.#others.keys()]) this.setOthers(key, 0);
  }
}

/** A key and its count. */
export type TallyRow = readonly [key: string, count: number];

/**
 * Events by key, reported to the other processes once: pushes, refusals, right and wrong secrets. If more than `remembered` keys wait, the oldest is
 * dropped.
 */
export class Notices {
  readonly #remembered: number;
  readonly #onChange: () => void;
  #waiting: Map<string, number> | null = null;
  readonly #onNotice: ((key: string, amount: number) => void)[] = [];

  /** @param remembered maximum of keys that wait to be reported @param onChange as in Tally */
  constructor(remembered = 1, onChange: () => void = () => undefined) {
    this.#remembered = remembered;
    this.#onChange = onChange;
  }

  add(key: string, amount: number): void {
    const waiting = this.#waiting;
    if (waiting === null || amount === 0) return;
    const sum = (waiting.get(key) ?? 0) + amount;
    if (sum === 0) waiting.delete(key);
    else waiting.set(key, sum);
    if (waiting.size === 1) this.#onChange();
    if (waiting.size > this.#remembered) for (const oldest of waiting.keys()) return void waiting.delete(oldest);
  }

  /** @param noticed called for each event that another process reports */
  onNotice(noticed: (key: string, amount: number) => void): void {
    this.#onNotice.push(noticed);
  }

  /** Another process reports an event. */
  hear(key: string, amount: number): void {
    for (const noticed of this.#onNotice) noticed(key, amount);
  }

  /** Records events for the other processes from now on. */
  share(): void {
    this.#waiting ??= new Map();
  }

  take(max: number): TallyRow[] {
    const rows: TallyRow[] = [];
    if (this.#waiting === null) return rows;
    for (const row of this.#waiting) {
      if (rows.length >= max) break;
      rows.push(row);
      this.#waiting.delete(row[0]);
    }
    return rows;
  }
}
