/**
 * One channel on a node of a cluster: the state common to all nodes, the changes that this node has committed alone and not sent yet, and the merge
 * of both, which is in force here. Changes run one after the other, each in the same steps: saved, in force, delivered.
 */

import { SerialQueue } from '../../base/serial-queue.js';
import { maxVersion } from '../../metadata/record-schema.js';
import type { Change, ChannelState, HistoryEntry } from '../../now-playing/state.js';
import type { Store } from '../../store/store.js';
import { allOf, changesBetween, type Merged, merge, withUnsent } from './merge.js';
import { begunTwice, isKeptTwice, playOf, rowsBetween } from './one-history.js';
import {
  type Decided,
  NOTHING,
  newest,
  type Ordered,
  SAME_MOMENT_MS,
  saysTheSame,
  type Unsent,
  unsentOf,
} from './ordered.js';
import { readShared, type SharedPart } from './ordered-schema.js';

/** After a loss of data in Redis, ended entries of the history that the cluster lacks are sent to it: maximum age, and number. */
const SENT_HISTORY_MS = 600_000;
const MAX_SENT_ROWS = 100;

type StoredState = ChannelState & { readonly cluster?: unknown };

export interface SharedChannelParts {
  readonly channel: string;
  readonly store: Store;
  /** Maximum number of unsent changes. Past it the oldest is dropped, and is in this node's history only. */
  readonly maxUnsent: number;
  /** The highest stamp that this node has issued or seen. */
  lastStamp(): number;
  deliver(change: Change): void;
  /** The store has failed to save a change of the cluster. It is in force, and is saved with the next one. */
  onUnsaved(error: unknown): void;
  onDropped(): void;
  /** As ClusterEngineParts has it. */
  onBad(place: string, reason: string): void;
}

/** A change that is committed on this node only, and its id in the log later. */
export interface LocalChange {
  readonly change: Change;
  readonly id: string;
  readonly decided: Decided;
}

/** A change that has arrived from the log. */
export interface Arrived {
  readonly ordered: Ordered;
  readonly history: Change['history'];
  /** Of the change. */
  readonly id: string;
  /** The change of this node that waits for it; null: it is of another node. */
  readonly own: Change | null;
}

export class SharedChannel {
  readonly channel: string;
  /** The last common state that is known here. */
  base: Ordered;
  /** Oldest first. */
  unsent: readonly Unsent[];
  /** The state in force here. */
  state: ChannelState;
  /** A version for which a change was refused, though no such last value was read; 0: none. */
  unknownVersion = 0;
  /** Decisions of this node run one after the other. */
  readonly decisions = new SerialQueue();
  readonly #parts: SharedChannelParts;
  readonly #work = new SerialQueue();
  readonly #waiters = new Set<() => void>();

  constructor(parts: SharedChannelParts) {
    this.channel = parts.channel;
    this.#parts = parts;
    const { cluster, ...state } = (parts.store.load(parts.channel) ?? NOTHING.state) as StoredState;
    const kept = this.#keptPart(cluster, state.version);
    this.state = state;
    this.base = kept?.base ?? { state, now: kept?.now ?? NOTHING.now, next: kept?.next ?? NOTHING.next };
    this.unsent = kept?.unsent ?? [];
  }

  /** The record saved with the state, if it is valid. */
  #keptPart(value: unknown, version: number): SharedPart | undefined {
    if (value === undefined) return undefined;
    const { channel, onBad } = this.#parts;
    try {
      const kept = readShared(channel, value);
      return kept.version === version ? kept : undefined;
    } catch (error) {
      onBad(`what is kept for the cluster of channel ${channel}`, (error as Error).message);
      return undefined;
    }
  }

  /** Resolves when all changes in progress are done. */
  get settled(): Promise<unknown> {
    return this.#work.settled;
  }

  /** Resolves with the next change here, or when `wake` is called. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiters.add(resolve));
  }

  wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const resolve of waiters) resolve();
  }

  /** Applies a change from the log. @returns the last change that was delivered */
  arrive({ ordered, history, id, own }: Arrived): Promise<Change | null> {
    return this.#work.run(async () => {
      const sent = this.unsent.findIndex((one) => one.id === id);
      const isNews = ordered.state.version > this.base.state.version;
      if (!isNews && sent === -1) {
        await this.#keepHistory(history);
        return null;
      }
      const unsent = this.unsent.slice(sent + 1);
      const base = isNews ? ordered : this.base;
      const gone = sent === -1 ? [] : begunTwice(this.unsent[sent]!, history, base.state);
      // The history of a change that is a whole state (merge.ts, `allOf`) has none of its title.
      const listed = new Set([...history, ...gone].map(playOf));
      const adopted = rowsBetween(this.state, withUnsent(base, unsent).state).filter((row) => !listed.has(playOf(row)));
      return await this.#putInForce(base, unsent, [...history, ...adopted], own, gone);
    });
  }

  /**
   * The cluster's last value is malformed: the known state stays, and the next change is decided on the version of that value.
   * @param version of it; null: the refusal of the next change names it (sender.ts)
   */
  skip(version: number | null): Promise<unknown> {
    return this.#work.run(async () => {
      const { state } = this.base;
      if (version === null || version <= state.version || version > maxVersion(state.version)) return;
      await this.#putInForce({ ...this.base, state: { ...state, version } }, this.unsent, [], null);
    });
  }

  /**
   * Applies the last value, read after a joining.
   * @param isOther the epoch is new: what the cluster lacks is sent
   */
  restart(ordered: Ordered, isOther: boolean, id: string, decided: Decided): Promise<unknown> {
    return this.#work.run(() => {
      const { base } = this;
      const isMissing = base.state.version > ordered.state.version;
      const isSame = !isMissing && base.state.version === ordered.state.version && isEqual(base, ordered);
      const own = (isMissing || isOther) && !isSame && base.state.version > 0 ? [allOf(base, id, decided)] : [];
      const unsent = [...own, ...this.unsent];
      return this.#putInForce(ordered, unsent, rowsBetween(this.state, withUnsent(ordered, unsent).state), null);
    });
  }

  /**
   * Queues the entries of the history that the cluster lacks, or has without a correction.
   * @param seen the plays in the log (playOf), with their versions
   */
  sendHistory(seen: ReadonlyMap<string, number>, newId: () => string, decided: Decided): Promise<unknown> {
    return this.#work.run(async () => {
      const { channel, store } = this.#parts;
      const fromMs = Math.max(0, (this.state.onAirSinceMs || 0) - SENT_HISTORY_MS);
      const rows = store
        .history(channel, { limit: MAX_SENT_ROWS })
        .filter((row) => row.toMs !== null && row.toMs >= fromMs && (seen.get(playOf(row)) ?? -1) < row.record.version);
      if (rows.length === 0) return;
      const { version } = this.base.state;
      const unsent: Unsent = { id: newId(), decided, version, onVersion: -1, onNow: null, history: rows };
      await this.#putInForce(this.base, [...this.unsent, unsent], [], null);
    });
  }

  /** The first unsent change as the cluster gets it: without entries of plays that it has from another node already. Null: no change. */
  mergedFirst(): Merged | null {
    const one = this.unsent[0]!;
    const merged = merge(this.base, one);
    if (merged === null) return null;
    const { channel, store } = this.#parts;
    const others = (row: HistoryEntry) =>
      store
        .history(channel, { beforeMs: row.fromMs + 2 * SAME_MOMENT_MS, limit: MAX_SENT_ROWS })
        .filter((known) => !this.unsent.some(({ history }) => history.some((own) => playOf(own) === playOf(known))));
    // Of `sendHistory`: some may have been removed meanwhile, as others had begun their plays.
    const isPast = one.now === undefined && one.onVersion === -1;
    const isGone = (row: HistoryEntry) => (isPast ? !store.hasEntry(channel, row) : isKeptTwice(row, one, others));
    return { ...merged, history: merged.history.filter((row) => !isGone(row)) };
  }

  /** Saves the history entries of a change whose state is older than the one here. */
  async #keepHistory(history: Change['history']): Promise<void> {
    const { channel, store, onUnsaved } = this.#parts;
    const rows = history.filter((row) => !store.hasEntry(channel, row));
    if (rows.length === 0) return;
    await this.#save(this.state, this.base, this.unsent, rows).catch(onUnsaved);
  }

  /** Drops an unsent change. @param isMerged it has no effect any more; else it is in the log already */
  forgetUnsent(id: string, isMerged: boolean): Promise<unknown> {
    return this.#work.run(async () => {
      const index = this.unsent.findIndex((one) => one.id === id);
      if (index === -1) return;
      const gone = isMerged ? begunTwice(this.unsent[index]!, [], this.base.state) : [];
      await this.#putInForce(this.base, this.unsent.toSpliced(index, 1), [], null, gone);
    });
  }

  /**
   * Commits a change on this node only, to be sent later. Rejects with the error of the store, or of `decide`, without effect.
   * @param decide called with the state in force; null: no change
   */
  commitHere(decide: (state: ChannelState) => LocalChange | null): Promise<Change | null> {
    return this.#work.run(async () => {
      const before = this.state;
      const made = decide(before);
      if (made === null) return null;
      const { change, id, decided } = made;
      const all = [...this.unsent, unsentOf(before, change, id, decided)];
      const unsent = newest(all, this.#parts.maxUnsent);
      await this.#save(change.state, this.base, unsent, change.history);
      for (let i = unsent.length; i < all.length; i++) this.#parts.onDropped();
      this.unsent = unsent;
      this.state = change.state;
      this.#parts.deliver(change);
      this.wake();
      return change;
    });
  }

  /** Time and node of a decision made now, ordered after all known ones. @param nowMs cluster time */
  decidedAt(nowMs: number, node: string): Decided {
    const { now, next } = this.base;
    const lastMs = Math.max(now.atMs, next.atMs, this.unsent.at(-1)?.decided.atMs ?? 0);
    return { atMs: Math.max(nowMs, lastMs + 1), node };
  }

  async #putInForce(
    base: Ordered,
    unsent: readonly Unsent[],
    history: Change['history'],
    own: Change | null,
    gone: readonly HistoryEntry[] = [],
  ): Promise<Change | null> {
    const before = this.state;
    const { state } = withUnsent(base, unsent);
    try {
      await this.#save(state, base, unsent, history, gone);
    } catch (error) {
      this.#parts.onUnsaved(error);
    }
    this.base = base;
    this.unsent = unsent;
    this.state = state;
    let last: Change | null = null;
    for (const change of changesBetween(before, state, history)) {
      last = own === null ? change : { ...change, connection: own.connection };
      this.#parts.deliver(last);
    }
    this.wake();
    return last;
  }

  #save(
    state: ChannelState,
    base: Ordered,
    unsent: readonly Unsent[],
    history: Change['history'],
    gone: readonly HistoryEntry[] = [],
  ): Promise<void> {
    const { channel, store, lastStamp } = this.#parts;
    const { now, next } = base;
    const isSame = unsent.length === 0;
    const cluster: SharedPart = { version: state.version, base: isSame ? null : base, now, next, unsent };
    const kept = { ...state, stamp: Math.max(state.stamp ?? 0, lastStamp()), cluster };
    return store.save(channel, kept, history, gone);
  }
}

function isEqual({ state: one }: Ordered, { state: other }: Ordered): boolean {
  return saysTheSame(one.now, other.now) && saysTheSame(one.next, other.next);
}
