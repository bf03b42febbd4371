/**
 * One channel on a node of a cluster: what all agree on, what this node has committed by itself and not sent yet, and what both come to, which is in
 * force here. Whatever changes it is done one after the other, and each time the same way: committed here, in force, delivered.
 */

import { playId } from '../../metadata/record.js';
import { mostVersion } from '../../metadata/record-schema.js';
import { isTitle } from '../../now-playing/effect.js';
import type { Change, ChannelState, HistoryEntry } from '../../now-playing/state.js';
import type { Store } from '../../store/store.js';
import { allOf, changesBetween, withUnsent } from './merge.js';
import { type Decided, NOTHING, type Ordered, saysTheSame, type Unsent, unsentOf } from './ordered.js';
import { readShared } from './ordered-schema.js';

/** Beside the state in the store: with it, in one transaction. */
interface SharedPart {
  /** Of the state that was saved with it: another one was saved by a server without a cluster. */
  readonly version: number;
  /** What all agreed on; null: the state itself, but for when it was decided. */
  readonly base: Ordered | null;
  readonly now: Decided;
  readonly next: Decided;
  readonly unsent: readonly Unsent[];
}

/** After a loss of data in Redis, ended entries of the history up to this age, and this many, are sent to the cluster where it lacks them. */
const SENT_HISTORY_MS = 600_000;
const MAX_SENT_ROWS = 100;

type StoredState = ChannelState & { readonly cluster?: unknown };

export interface SharedChannelParts {
  readonly channel: string;
  readonly store: Store;
  /** How many changes are kept to be sent; past it the oldest is dropped: it is in this node's history only. */
  readonly mostUnsent: number;
  /** The highest stamp of this node. */
  lastStamp(): number;
  deliver(change: Change): void;
  /** The store does not take what the cluster has committed: it is in force, and saved with the next change. */
  onUnsaved(error: unknown): void;
  onDropped(): void;
  /** As ClusterEngineParts has it. */
  onBad(place: string, reason: string): void;
}

/** A change that is committed here alone, and the id under which it will be in the log. */
export interface LocalChange {
  readonly change: Change;
  readonly id: string;
  readonly decided: Decided;
}

/** What has come from the cluster. */
export interface Arrived {
  readonly ordered: Ordered;
  readonly history: Change['history'];
  /** Of the change. */
  readonly id: string;
  /** The change that this node waits for, where it is that. */
  readonly own: Change | null;
}

export class SharedChannel {
  readonly channel: string;
  /** What all agree on, as far as it is known here. */
  base: Ordered;
  /** Oldest first. */
  unsent: readonly Unsent[];
  /** What is in force here. */
  state: ChannelState;
  /** The version for which a change was refused, though no such last value has come; 0: none. */
  unknownVersion = 0;
  /** Changes that are decided here wait for each other. */
  decisions: Promise<unknown> = Promise.resolve();
  readonly #parts: SharedChannelParts;
  #work: Promise<unknown> = Promise.resolve();
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

  /** What was saved with the state, if it passes the check. */
  #keptPart(value: unknown, version: number): SharedPart | undefined {
    if (value === undefined) return undefined;
    const { channel, onBad } = this.#parts;
    try {
      const kept: SharedPart = readShared(channel, value);
      return kept.version === version ? kept : undefined;
    } catch (error) {
      onBad(`what is kept for the cluster of channel ${channel}`, (error as Error).message);
      return undefined;
    }
  }

  /** Resolves when what is under way here is done. */
  get settled(): Promise<unknown> {
    return this.#work;
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

  /** All agree on something else. @returns what was delivered: the last of it, where there were several */
  arrive({ ordered, history, id, own }: Arrived): Promise<Change | null> {
    return this.#next(async () => {
      const sent = this.unsent.findIndex((one) => one.id === id);
      const isNews = ordered.state.version > this.base.state.version;
      if (!isNews && sent === -1) {
        await this.#keepHistory(history);
        return null;
      }
      const unsent = this.unsent.slice(sent + 1);
      return await this.#putInForce(isNews ? ordered : this.base, unsent, history, own);
    });
  }

  /**
   * The cluster's last value is bad: what is known here stays, and the next change is decided on the version of that value.
   * @param version of it; null: the refusal of the next change will say it (sender.ts)
   */
  skip(version: number | null): Promise<unknown> {
    return this.#next(async () => {
      const { state } = this.base;
      if (version === null || version <= state.version || version > mostVersion(state.version)) return;
      await this.#putInForce({ ...this.base, state: { ...state, version } }, this.unsent, [], null);
    });
  }

  /**
   * The whole of what all agree on, read anew.
   * @param isOther the cluster has lost what it had: what this node has and the cluster has not is sent
   */
  restart(ordered: Ordered, isOther: boolean, id: string, decided: Decided): Promise<unknown> {
    return this.#next(() => {
      const { base } = this;
      const isMissing = base.state.version > ordered.state.version;
      const isSame = !isMissing && base.state.version === ordered.state.version && isEqual(base, ordered);
      const own = (isMissing || isOther) && !isSame && base.state.version > 0 ? [allOf(base, id, decided)] : [];
      const unsent = [...own, ...this.unsent];
      return this.#putInForce(ordered, unsent, rowsBetween(this.state, withUnsent(ordered, unsent).state), null);
    });
  }

  /**
   * Queues the entries of the history that the cluster lacks.
   * @param seen the plays that the cluster has (playOf)
   */
  sendHistory(seen: ReadonlySet<string>, newId: () => string, decided: Decided): Promise<unknown> {
    return this.#next(async () => {
      const { channel, store } = this.#parts;
      const fromMs = Math.max(0, (this.state.onAirSinceMs || 0) - SENT_HISTORY_MS);
      const rows = store
        .history(channel, { limit: MAX_SENT_ROWS })
        .filter((row) => row.toMs !== null && row.toMs >= fromMs && !seen.has(playOf(row)));
      if (rows.length === 0) return;
      const { version } = this.base.state;
      const unsent: Unsent = { id: newId(), decided, version, onVersion: -1, onNow: null, history: rows };
      await this.#putInForce(this.base, [...this.unsent, unsent], [], null);
    });
  }

  /** Stores entries of a change whose state is older than the one here. */
  async #keepHistory(history: Change['history']): Promise<void> {
    const { channel, store, onUnsaved } = this.#parts;
    const rows = history.filter((row) => !store.hasEntry(channel, row));
    if (rows.length === 0) return;
    await this.#save(this.state, this.base, this.unsent, rows).catch(onUnsaved);
  }

  /** What was to be sent is there, or has nothing to say any more. */
  forgetUnsent(id: string): Promise<unknown> {
    return this.#next(async () => {
      const place = this.unsent.findIndex((one) => one.id === id);
      if (place !== -1) await this.#putInForce(this.base, this.unsent.toSpliced(place, 1), [], null);
    });
  }

  /**
   * Commits a change here alone, to be sent later. Rejects with what the store says, or what `decide` throws; nothing has changed then.
   * @param decide on the state in force; null: nothing is to change
   */
  commitHere(decide: (state: ChannelState) => LocalChange | null): Promise<Change | null> {
    return this.#next(async () => {
      const before = this.state;
      const made = decide(before);
      if (made === null) return null;
      const { change, id, decided } = made;
      const all = [...this.unsent, unsentOf(before, change, id, decided)];
      const unsent = all.slice(-this.#parts.mostUnsent);
      await this.#save(change.state, this.base, unsent, change.history);
      for (let i = unsent.length; i < all.length; i++) this.#parts.onDropped();
      this.unsent = unsent;
      this.state = change.state;
      this.#parts.deliver(change);
      this.wake();
      return change;
    });
  }

  /** When what is decided now is decided: behind all that is known here. @param nowMs by the clock of the cluster */
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
  ): Promise<Change | null> {
    const before = this.state;
    const { state } = withUnsent(base, unsent);
    try {
      await this.#save(state, base, unsent, history);
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

  #save(state: ChannelState, base: Ordered, unsent: readonly Unsent[], history: Change['history']): Promise<void> {
    const { channel, store, lastStamp } = this.#parts;
    const { now, next } = base;
    const isSame = unsent.length === 0;
    const cluster: SharedPart = { version: state.version, base: isSame ? null : base, now, next, unsent };
    const kept = { ...state, stamp: Math.max(state.stamp ?? 0, lastStamp()), cluster };
    return store.save(channel, kept, history);
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => undefined);
    return done;
  }
}

/** Entries for the history when another state takes the place of the one in force. */
function rowsBetween(before: ChannelState, after: ChannelState): HistoryEntry[] {
  const [was, is] = [openRow(before), openRow(after)];
  if (was !== null && is !== null && playOf(was) === playOf(is)) return saysTheSame(was.record, is.record) ? [] : [is];
  const ended = was === null ? [] : [{ ...was, toMs: Math.max(was.fromMs, after.onAirSinceMs) }];
  return is === null ? ended : [...ended, is];
}

function openRow({ now, onAirSinceMs }: ChannelState): HistoryEntry | null {
  return now === null || !isTitle(now) ? null : { record: now, fromMs: onAirSinceMs, toMs: null };
}

/** One play of a title: the same at all nodes. */
export function playOf({ record, fromMs }: HistoryEntry): string {
  return `${fromMs} ${playId(record)}`;
}

function isEqual({ state: one }: Ordered, { state: other }: Ordered): boolean {
  return saysTheSame(one.now, other.now) && saysTheSame(one.next, other.next);
}
