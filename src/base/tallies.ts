/**
 * Everything that the processes of a server count or report together: limits and statistics read it, a link exchanges it
 * (link/README.md, "Tallies").
 *
 *   tallies   by name: numbers by key, added up over the processes
 *   peaks     by key: the largest that any process has seen
 *   notices   by name: what happened, reported once
 *
 * A process that is alone makes the same and exchanges nothing. Made in app/core.ts.
 */

import { Notices, Tally, type TallyRow } from './tally.js';

/** What is counted by these names; and by `lag`, `unique` or `hls` and a channel. */
const TALLIES = [
  ...([
    'all',
    'connections',
    'pending connections',
    'secret queues',
    'history bytes',
    'history pages',
    'rewind bytes',
  ] as const),
  ...(['listeners', 'listeners of channels', 'playing', 'watchers'] as const),
] as const;
const NOTICES = [
  ...(['pushes', 'refused pushes', 'refused encoders'] as const),
  ...(['right secrets', 'wrong secrets', 'wrong secrets in all'] as const),
] as const;
export type TallyName = (typeof TALLIES)[number] | `${'lag' | 'unique' | 'hls'} ${string}`;
export type NoticeName = (typeof NOTICES)[number];
export type PeakKey = `${'listeners' | 'connections'} ${string}`;

const NAMES: ReadonlySet<string> = new Set([...TALLIES, ...NOTICES]);
const OF_CHANNEL = /^(?:lag|unique|hls|listeners|connections) (.+)$/;

/**
 * Whether a process of ours may count, or report, by this name: what another one says is kept by its name, for good. @param has whether there is such
 * a channel
 */
export function isKnownName(name: string, has: (channel: string) => boolean): boolean {
  const [, channel] = OF_CHANNEL.exec(name) ?? [];
  return NAMES.has(name) || (channel !== undefined && has(channel));
}

/** Plain data, for a link. */
export interface TallyRows {
  readonly counts: readonly (readonly [name: string, rows: readonly TallyRow[]])[];
  readonly peaks: readonly TallyRow[];
  readonly notices: readonly (readonly [name: string, rows: readonly TallyRow[]])[];
}

/** Of one tally in one message, while others have something to say: a crowd in one does not hold them up. */
const SHARE = 8;

export class Tallies {
  readonly #remembered: number;
  readonly #tallies = new Map<TallyName, Tally>();
  readonly #notices = new Map<NoticeName, Notices>();
  readonly #peaks = new Map<PeakKey, number>();
  /** Peaks that are to be said. */
  readonly #raised = new Set<PeakKey>();
  readonly #onLook: (() => void)[] = [];
  readonly #onHeard: (() => void)[] = [];
  #isShared = false;
  /** There is something to be said: `take` has it. Numbers that are only looked at are not noticed; what is counted beside them is. */
  onChange: () => void = () => undefined;
  readonly #changed = () => this.onChange();
  /** Numbers that are looked at, by what they are of: said before all others. */
  readonly all = this.tally('all');
  /** Which tally is the first of the next message. */
  #next = 0;

  /** @param remembered addresses of which notices wait, at most */
  constructor(remembered = 1) {
    this.#remembered = remembered;
  }

  /** Whether there are other processes. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /** The same one for a name, always. */
  tally(name: TallyName): Tally {
    let tally = this.#tallies.get(name);
    if (tally === undefined) {
      this.#tallies.set(name, (tally = new Tally(this.#changed)));
      if (this.#isShared) tally.share();
    }
    return tally;
  }

  notices(name: NoticeName): Notices {
    let notices = this.#notices.get(name);
    if (notices === undefined) {
      this.#notices.set(name, (notices = new Notices(this.#remembered, this.#changed)));
      if (this.#isShared) notices.share();
    }
    return notices;
  }

  peak(key: PeakKey): number {
    return this.#peaks.get(key) ?? 0;
  }

  raise(key: PeakKey, count: number): void {
    if (count <= this.peak(key)) return;
    this.#peaks.set(key, count);
    if (!this.#isShared) return;
    this.#raised.add(key);
    this.onChange();
  }

  /** Before what has changed is said: numbers that are counted in plain fields are set. */
  onLook(look: () => void): void {
    this.#onLook.push(look);
  }

  /** Something of the others has come. */
  onHeard(heard: () => void): void {
    this.#onHeard.push(heard);
  }

  /** There are others, or others than before: all that is there is to be said. */
  share(): void {
    this.#isShared = true;
    for (const tally of this.#tallies.values()) tally.share();
    for (const notices of this.#notices.values()) notices.share();
    for (const key of this.#peaks.keys()) this.#raised.add(key);
    if (this.#raised.size > 0) this.onChange();
  }

  /** What has changed since the last time; the rest comes with the next. Null: nothing. @param max rows, about */
  take(max: number): TallyRows | null {
    for (const look of this.#onLook) look();
    const peaks = [...this.#raised].map((key) => [key, this.peak(key)] as const);
    this.#raised.clear();
    const share = Math.ceil(max / SHARE);
    const notices = [...this.#notices]
      .map(([name, each]) => [name, each.take(share)] as const)
      .filter(([, rows]) => rows.length > 0);
    const counts = this.#takeCounts(max, share);
    return counts.length + notices.length + peaks.length === 0 ? null : { counts, peaks, notices };
  }

  /** What others say, of whom the hub has checked the names. @param isFirst of their link: what was known of others before holds no more */
  apply({ counts, peaks, notices }: TallyRows, isFirst: boolean): void {
    if (isFirst) for (const tally of this.#tallies.values()) tally.forgetOthers();
    for (const [name, rows] of counts) {
      const tally = this.tally(name as TallyName);
      for (const [key, count] of rows) tally.setOthers(key, count);
    }
    for (const [key, count] of peaks as readonly (readonly [PeakKey, number])[])
      if (count > this.peak(key)) this.#peaks.set(key, count);
    for (const [name, rows] of notices) {
      const { onNotice } = this.notices(name as NoticeName);
      if (onNotice !== null) for (const [key, amount] of rows) onNotice(key, amount);
    }
    for (const heard of this.#onHeard) heard();
  }

  #takeCounts(max: number, share: number): (readonly [TallyName, readonly TallyRow[]])[] {
    const all = [...this.#tallies];
    const counts: (readonly [TallyName, readonly TallyRow[]])[] = [];
    const take = ([name, tally]: readonly [TallyName, Tally], room: number) => {
      const rows = tally.take(room);
      if (rows.length > 0) counts.push([name, rows]);
      return rows.length;
    };
    let left = max - take(all[0]!, max);
    const from = this.#next;
    for (let i = 0; i < all.length && left > 0; i++) {
      left -= take(all[(from + i) % all.length]!, Math.min(share, left));
      this.#next = (from + i + 1) % all.length;
    }
    // What they have left is for those that have more.
    for (let i = 0; i < all.length && left > 0; i++) left -= take(all[(from + i) % all.length]!, left);
    return counts;
  }
}
