/**
 * All counts that the processes of a server share: limits and statistics read them, a link exchanges them (link/README.md, "Tallies").
 *
 *   tallies   by name: numbers by key, summed over the processes
 *   peaks     by key: the largest number that any process has seen
 *   notices   by name: events by key, each reported once
 *
 * A single process has the same, and exchanges nothing. Made in app/core.ts.
 */

import { Notices, Tally, type TallyRow } from './tally.js';

/** Names of tallies; further ones are `lag`, `unique` or `hls` with a channel. */
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

/** Whether a process may report by this name: names from other processes are kept for good. @param has whether a channel exists */
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

/** One tally gets this fraction of a message while others have changes too, so that a crowd in one does not delay them. */
const SHARE = 8;

export class Tallies {
  readonly #remembered: number;
  readonly #tallies = new Map<TallyName, Tally>();
  readonly #notices = new Map<NoticeName, Notices>();
  readonly #peaks = new Map<PeakKey, number>();
  /** Peaks to be reported. */
  readonly #raised = new Set<PeakKey>();
  readonly #onLook: (() => void)[] = [];
  readonly #onHeard: (() => void)[] = [];
  #isShared = false;
  /** See `share`, before which nothing is recorded for `take`. */
  #onChange: () => void = () => undefined;
  readonly #changed = () => this.#onChange();
  /** Counts set by `onLook`, by their names; reported before all others. */
  readonly all = this.tally('all');
  /** Index of the first tally in the next message. */
  #next = 0;

  /** @param remembered maximum of addresses with pending notices */
  constructor(remembered = 1) {
    this.#remembered = remembered;
  }

  /** Whether there are other processes. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /** The tally of a name, created on first use. */
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
    this.#onChange();
  }

  /** @param look called before each report, to set the counts that are kept in plain fields */
  onLook(look: () => void): void {
    this.#onLook.push(look);
  }

  /** @param heard called after each report from other processes */
  onHeard(heard: () => void): void {
    this.#onHeard.push(heard);
  }

  /**
   * Other processes were connected, or replaced: reports everything from the beginning.
   * @param onChange called when there is something for `take`; not for counts that only `onLook` sets
   */
  share(onChange: () => void): void {
    this.#isShared = true;
    this.#onChange = onChange;
    for (const tally of this.#tallies.values()) tally.share();
    for (const notices of this.#notices.values()) notices.share();
    for (const key of this.#peaks.keys()) this.#raised.add(key);
    if (this.#raised.size > 0) onChange();
  }

  /** The changes since the last call, or a part of them; null: none. @param max about how many rows */
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

  /** Applies a report whose names the hub has checked. @param isFirst whether it is the first of a link, which replaces all earlier reports */
  apply({ counts, peaks, notices }: TallyRows, isFirst: boolean): void {
    if (isFirst) for (const tally of this.#tallies.values()) tally.forgetOthers();
    for (const [name, rows] of counts) {
      const tally = this.tally(name as TallyName);
      for (const [key, count] of rows) tally.setOthers(key, count);
    }
    for (const [key, count] of peaks as readonly (readonly [PeakKey, number])[])
      if (count > this.peak(key)) this.#peaks.set(key, count);
    for (const [name, rows] of notices) {
      const known = this.notices(name as NoticeName);
      for (const [key, amount] of rows) known.hear(key, amount);
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
    // Tallies with more changes share the remaining rows.
    for (let i = 0; i < all.length && left > 0; i++) left -= take(all[(from + i) % all.length]!, left);
    return counts;
  }
}
