/**
 * Counts by key over several processes: this one's own, and those that the others reported last. A limit on them holds for all processes together,
 * except for changes whose report is on its way.
 *
 *   own       a 3 · b 1            changed    b: was said to be 0            a key is there while it is not 0, or until its 0 is said
 *   others    a 2 · c 4            count(a) 5
 *
 * A process that is alone has no others, and notes no changes. Invariant: noted are only keys whose number is not what was last said, so however fast
 * a crowd comes and goes, no more than twice as many as it has at a time. Made and shared by Tallies.
 */
export class Tally {
  readonly #own = new Map<string, number>();
  readonly #others = new Map<string, number>();
  /** Key → what was last said. Null: it is not shared. */
  #changed: Map<string, number> | null = null;
  /** Keys that are both here and elsewhere. */
  #both = 0;
  readonly #onChange: () => void;
  /** What the others have of a key has changed. */
  onOthers: ((key: string, count: number) => void) | null = null;

  /** @param onChange called when there is something to be said, and nothing was before */
  constructor(onChange: () => void = () => undefined) {
    this.#onChange = onChange;
  }

  own(key: string): number {
    return this.#own.get(key) ?? 0;
  }

  others(key: string): number {
    return this.#others.size === 0 ? 0 : (this.#others.get(key) ?? 0);
  }

  /** Of all processes. */
  count(key: string): number {
    return this.own(key) + this.others(key);
  }

  /** How many keys only others have. */
  get elsewhere(): number {
    return this.#others.size - this.#both;
  }

  /** What the others have. */
  get ofOthers(): ReadonlyMap<string, number> {
    return this.#others;
  }

  /** Those that are not 0 here. */
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

  /** What is counted elsewhere, as it is now. */
  set(key: string, count: number): void {
    this.add(key, count - this.own(key));
  }

  /** From here on changes are noted; all that is there is to be said, to whom nothing has been said yet. */
  share(): void {
    this.#changed = new Map();
    for (const key of this.#own.keys()) this.#changed.set(key, 0);
    if (this.#changed.size > 0) this.#onChange();
  }

  /** Takes the next report: keys with their present numbers, at most `max`, those that have waited longest first. */
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
    this.onOthers?.(key, count);
  }

  forgetOthers(): void {
    for (const key of [...this.#others.keys()]) this.setOthers(key, 0);
  }
}

/** A key, and how many. */
export type TallyRow = readonly [key: string, count: number];

/**
 * What happened here by key, reported to the others once: tokens that were taken, secrets that were right. Where more keys wait than are
 * remembered the oldest is forgotten.
 */
export class Notices {
  readonly #remembered: number;
  readonly #onChange: () => void;
  #waiting: Map<string, number> | null = null;
  /** It has happened to another process. */
  onNotice: ((key: string, amount: number) => void) | null = null;

  /** @param remembered keys that wait to be reported, at most @param onChange as that of Tally */
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

  /** From here on they are kept for the others. */
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
