/**
 * The engine of a node of a cluster: a change is decided here on the last common state, and committed by Redis if that is still the last one; else
 * it is decided again. All nodes, including this one, apply changes from the log, in its order.
 *
 *   decide on 7 ──► Redis: is 7 the last? ──► 8 is in the log ──► each node: its store ──► its tape, its readers ──► here: the answer
 *                                       └───► no, 8 is: decided again, when 8 has come
 *
 * While Redis is away, and until the changes of that time are sent, a change is committed on this node only (shared-channel.ts). Passes
 * test/titles/engine-contract.ts.
 */

import { randomUUID } from 'node:crypto';
import { retryLater, shuttingDown } from '../../base/refusal.js';
import type { Sequence } from '../../feed/sequence.js';
import { check } from '../../metadata/record-schema.js';
import { stampedChange } from '../../now-playing/stamp.js';
import type { Change, ChannelState } from '../../now-playing/state.js';
import type { Store } from '../../store/store.js';
import type { Engine } from '../../titles/engine.js';
import type { ClusterTime } from '../cluster-time.js';
import type { LeaseAnswer, LeaseQuestion } from '../log/log-schema.js';
import type { SharedLog } from '../log/shared-log.js';
import type { BadEntry, BadLast, LogBell, LogEntry } from './log-entry.js';
import { type Joined, type LogPlace, NodeLink } from './node-link.js';
import { NOTHING, type Ordered } from './ordered.js';
import { aheadFault, placeSchema } from './ordered-schema.js';
import { Sender } from './sender.js';
import { playOf, SharedChannel } from './shared-channel.js';

export interface ClusterOptions {
  /** The name of this node; no other has it. */
  readonly node: string;
  /** How many changes the log keeps at least. */
  readonly logEntries: number;
  /** How many changes of a channel wait for Redis at most. */
  readonly waitingChanges: number;
}

export interface ClusterEngineParts {
  readonly options: ClusterOptions;
  /** Opens the shared log. Rejects if it cannot be reached now. */
  open(): Promise<SharedLog>;
  readonly store: Store;
  readonly sequence: Sequence;
  /** The cluster time. @param skewMs how far this machine's clock was last known to be ahead of it */
  makeTime(skewMs: number): ClusterTime;
  /** Whether this node has such a channel. */
  has(channel: string): boolean;
  deliver(channel: string, change: Change): void;
  /** Null: Redis is reached. Else why it is lost, or still not reached. */
  onReached(reason: Error | null): void;
  /** The owner of a channel has changed, or its facts. */
  onBell?(): void;
  /** An unsent change was dropped, as there were too many. */
  onDropped(channel: string): void;
  /** A malformed record was skipped. @param place where it is @param reason for the log */
  onBad(place: string, reason: string): void;
  onError(error: unknown): void;
}

/** Saved with the log position, for a node that starts while Redis is away. */
interface KeptSkew {
  readonly skewMs?: number;
}

const RETRY_SECONDS = 2;
/** A smaller change of the skew is not saved. */
const KEPT_SKEW_STEP_MS = 1000;
/** Of the store's documents. */
const PLACE = 'cluster';

export class ClusterEngine implements Engine {
  readonly #parts: ClusterEngineParts;
  readonly #channels = new Map<string, SharedChannel>();
  readonly #link: NodeLink;
  readonly #sender: Sender;
  /** Prefix of all ids that this process makes. */
  readonly #run = randomUUID();
  #made = 0;
  /** Channels added since the last values were read. */
  readonly #unread = new Set<string>();
  /** While the log is read after a joining: the plays in it, by channel. */
  readonly #seen = new Map<string, Set<string>>();
  #log: SharedLog | null = null;
  #place: LogPlace;
  /** The position of the last entry that was read; `#place` stays behind it while past entries are read. */
  #read: LogPlace;
  #savedPlace = '';
  /** The cluster time. */
  readonly time: ClusterTime;
  #savedSkewMs: number;
  #isDelivering = false;
  #isClosed = false;

  constructor(parts: ClusterEngineParts) {
    const { options, store, sequence, onError } = parts;
    this.#parts = parts;
    const kept = check<LogPlace & KeptSkew>(placeSchema, store.document(PLACE)).value;
    this.#place = { epoch: kept?.epoch ?? '', seq: kept?.seq ?? 0, id: kept?.id ?? '' };
    this.#read = this.#place;
    this.#savedSkewMs = kept?.skewMs ?? 0;
    this.time = parts.makeTime(this.#savedSkewMs);
    this.#link = new NodeLink({
      open: parts.open,
      place: () => this.#place,
      lastStamp: () => sequence.last,
      time: this.time,
      onJoined: (joined) => this.#onJoined(joined),
      onEntry: (entry) => this.#onEntry(entry),
      onPast: (entry) => this.#take(entry),
      onCaughtUp: (isOther) => this.#onCaughtUp(isOther),
      onLost: (reason) => this.#onLost(reason),
    });
    this.#sender = new Sender({ ...options, link: this.#link, sequence, onError });
  }

  /** Resolves after the first attempt to join, which is repeated in the background. Until `begin` changes are applied but not delivered. */
  async join(channels: Iterable<string>): Promise<void> {
    for (const channel of channels) this.#channel(channel);
    await this.#link.start();
    await this.#settled();
  }

  /** Delivers changes from now on. */
  begin(): void {
    this.#isDelivering = true;
  }

  /** Reads the last values of channels that were added to the configuration. */
  learn(added: readonly string[]): void {
    for (const channel of added) {
      this.#channel(channel);
      this.#unread.add(channel);
    }
    if (this.#log !== null) void this.#readUnread(this.#log);
  }

  async #readUnread(log: SharedLog): Promise<void> {
    const channels = [...this.#unread];
    if (channels.length === 0) return;
    try {
      const last = await this.#link.last(log, channels);
      for (const channel of channels) {
        this.#unread.delete(channel);
        this.#restart(this.#channel(channel), last.get(channel), false);
        void this.#sender.flush(log, this.#channel(channel));
      }
    } catch (error) {
      // Retried when Redis is reached again.
      if (!log.isLost) this.#parts.onError(error);
    }
  }

  #restart(shared: SharedChannel, last: Ordered | BadLast | undefined, isOther: boolean): void {
    const { options, onBad, onError } = this.#parts;
    const bad = last === undefined ? null : this.#faultOf(shared, last, []);
    if (bad !== null) {
      onBad(`the last value of channel ${shared.channel}`, bad);
      shared.skip('bad' in last! ? last.version : last!.state.version).catch(onError);
      return;
    }
    const decided = { atMs: shared.base.state.now?.effectAtMs ?? 1, node: options.node };
    shared.restart((last as Ordered | undefined) ?? NOTHING, isOther, this.#newId(), decided).catch(onError);
  }

  /** Asks for leases. Null: Redis is away. Rejects as Redis does. */
  async lease(asked: LeaseQuestion): Promise<LeaseAnswer | null> {
    return this.#log === null ? null : await this.#log.lease(asked);
  }

  /** See NodeLink; empty while Redis is away. Rejects as Redis does. */
  async nodes(): ReturnType<NodeLink['nodes']> {
    return this.#log === null ? new Map() : await this.#link.nodes(this.#log);
  }

  /** Opens another connection to the shared log. Rejects if it cannot be reached now. */
  open(): Promise<SharedLog> {
    return this.#parts.open();
  }

  /** Whether the shared log is reached. */
  get isReached(): boolean {
    return this.#log !== null;
  }

  /** The number of the last entry that was read. */
  get seq(): number {
    return this.#read.seq;
  }

  /** How long ago the log was last read to its end, milliseconds; less than two seconds while it is reached. */
  get behindMs(): number {
    return performance.now() - this.#link.readMs;
  }

  /** Number of changes that wait for Redis. */
  get waiting(): number {
    let waiting = 0;
    for (const { unsent } of this.#channels.values()) waiting += unsent.length;
    return waiting;
  }

  state(channel: string): ChannelState {
    const { state } = this.#channel(channel);
    this.#parts.sequence.follow(state.stamp ?? 0);
    return state;
  }

  update(channel: string, decide: (state: ChannelState) => Change | null): Promise<Change | null> {
    if (this.#isClosed) return Promise.reject(shuttingDown(RETRY_SECONDS));
    const shared = this.#channel(channel);
    const turn = shared.decisions.then(() => this.#turn(shared, decide));
    shared.decisions = turn.catch(() => undefined);
    return turn;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#channels.values()].map(({ decisions }) => decisions));
    await this.#link.close();
    await this.savePlace();
  }

  /** Saves the position in the log, from which this node continues after a restart. Called periodically and at the end. Never rejects. */
  async savePlace(): Promise<void> {
    const { skewMs } = this.time;
    if (Math.abs(skewMs - this.#savedSkewMs) > KEPT_SKEW_STEP_MS) this.#savedSkewMs = skewMs;
    const place = { ...this.#place, skewMs: this.#savedSkewMs };
    const text = JSON.stringify(place);
    if (text === this.#savedPlace) return;
    await this.#settled();
    try {
      await this.#parts.store.saveDocument(PLACE, place);
      this.#savedPlace = text;
    } catch (error) {
      this.#parts.onError(error);
    }
  }

  /** Resolves when all entries that were read are applied. */
  async #settled(): Promise<void> {
    await Promise.all([...this.#channels.values()].map(({ settled }) => settled));
  }

  async #turn(shared: SharedChannel, decide: (state: ChannelState) => Change | null): Promise<Change | null> {
    for (;;) {
      await this.#link.awake();
      await shared.settled;
      const log = this.#log;
      if (log === null || shared.unsent.length > 0) return await this.#commitHere(shared, decide, null, '');
      const change = decide(shared.state);
      if (change === null) return null;
      const id = this.#newId();
      const made = await this.#sender.commit(log, shared, this.#ordered(shared, change.state), change, id);
      if (made !== null) return made;
      if (log.isLost) {
        await this.#link.awake();
        return await this.#commitHere(shared, decide, change, id);
      }
    }
  }

  /** @param kept a decided change that may be in the log already: with the same id it is not added twice */
  async #commitHere(
    shared: SharedChannel,
    decide: (state: ChannelState) => Change | null,
    kept: Change | null,
    keptId: string,
  ): Promise<Change | null> {
    const { sequence, onError } = this.#parts;
    let stamp: number | null = null;
    try {
      return await shared.commitHere((state) => {
        const isKept = kept !== null && kept.state.version === state.version + 1;
        let change = isKept ? kept : decide(state);
        if (change === null) return null;
        if (change.record !== null) {
          stamp = sequence.issue(this.time.ms());
          change = stampedChange(change, stamp);
        }
        return { change, id: isKept ? keptId : this.#newId(), decided: this.#decided(shared) };
      });
    } catch (error) {
      // Errors of `decide` are passed on; those of the store are not.
      if (!(error instanceof Error) || stamp === null) throw error;
      onError(error);
      throw retryLater('unavailable', 'The change could not be made durable. Nothing was applied.', RETRY_SECONDS);
    } finally {
      if (stamp !== null) sequence.settle(stamp);
      if (this.#log !== null) void this.#sender.flush(this.#log, shared);
    }
  }

  #onJoined({ log, epoch, isOther, last }: Joined): void {
    this.#log = log;
    this.#read = { epoch, seq: this.#link.seq, id: last === null ? this.#place.id : '' };
    // If this process ends before the history is read, the next one reads it again.
    this.#place = last === null ? this.#read : { epoch, seq: 0, id: '' };
    this.#seen.clear();
    for (const shared of this.#channels.values()) {
      if (last !== null) this.#restart(shared, last.get(shared.channel), isOther);
      void this.#sender.flush(log, shared);
    }
    if (last === null) void this.#readUnread(log);
    else this.#unread.clear();
    this.#parts.onReached(null);
  }

  /** The log was read to its end. If its epoch is new, the plays that it lacks are sent, so that all nodes have the same history. */
  #onCaughtUp(isOther: boolean): void {
    const { options, onError } = this.#parts;
    const log = this.#log;
    this.#place = this.#read;
    if (isOther && log !== null) {
      for (const shared of this.#channels.values()) {
        const decided = { atMs: 1, node: options.node };
        shared
          .sendHistory(this.#seen.get(shared.channel) ?? new Set(), () => this.#newId(), decided)
          .then(() => this.#sender.flush(log, shared), onError);
      }
    }
    this.#seen.clear();
  }

  #onLost(reason: Error): void {
    this.#log = null;
    this.#sender.onLost();
    for (const shared of this.#channels.values()) shared.wake();
    // On close it was ended by this node.
    if (!this.#isClosed) this.#parts.onReached(reason);
  }

  #onEntry(entry: LogEntry | LogBell | BadEntry): void {
    const { seq, id } = entry;
    this.#read = { epoch: this.#place.epoch, seq, id };
    if (!this.#link.isReadingPast) this.#place = this.#read;
    if ('bad' in entry || 'ordered' in entry) void this.#take(entry);
    else this.#parts.onBell?.();
  }

  /** Resolves when the entry is applied, or skipped. */
  async #take(entry: LogEntry | LogBell | BadEntry): Promise<void> {
    const { sequence, has, onBad, onError } = this.#parts;
    const { seq, id } = entry;
    if (!('bad' in entry || 'ordered' in entry)) return;
    const shared = has(entry.channel) ? this.#channel(entry.channel) : null;
    const bad = this.#faultOf(shared, entry, 'bad' in entry ? [] : entry.history);
    if (bad !== null || 'bad' in entry) {
      onBad(`entry ${seq} of the log`, bad!);
      shared?.skip('bad' in entry ? entry.version : entry.ordered.state.version).catch(onError);
      this.#sender.onBad(id, retryLater('unavailable', 'The change was not taken by the cluster.', RETRY_SECONDS));
      return;
    }
    const { channel, stamp, ordered, history } = entry;
    if (this.#link.isCatchingUp) this.#noteSeen(channel, history);
    if (shared === null) {
      sequence.follow(stamp);
      return;
    }
    if (stamp > 0) sequence.expect(stamp);
    await shared
      .arrive({ ordered, history, id, own: this.#sender.own(id) })
      .then(
        (made) => this.#sender.onMade(id, made),
        (error: unknown) => {
          onError(error);
          this.#sender.onMade(id, null);
        },
      )
      .finally(() => sequence.settle(stamp));
  }

  /** Why a value from outside is rejected; null: it is accepted. */
  #faultOf(
    shared: SharedChannel | null,
    said: LogEntry | BadEntry | Ordered | BadLast,
    history: LogEntry['history'],
  ): string | null {
    if ('bad' in said) return said.bad;
    const ordered = 'ordered' in said ? said.ordered : said;
    return aheadFault(ordered, history, this.time.ms(), shared?.base.state.version ?? 0);
  }

  #noteSeen(channel: string, history: LogEntry['history']): void {
    const seen = this.#seen.get(channel) ?? new Set();
    for (const entry of history) seen.add(playOf(entry));
    this.#seen.set(channel, seen);
  }

  #ordered(shared: SharedChannel, state: ChannelState): Ordered {
    const { base, state: before } = shared;
    const decided = this.#decided(shared);
    const isNow = state.now !== before.now || state.covered !== before.covered || state.lost !== before.lost;
    const isNext = state.next !== before.next;
    return { state, now: isNow ? decided : base.now, next: isNext ? decided : base.next };
  }

  #decided(shared: SharedChannel) {
    return shared.decidedAt(this.time.ms(), this.#parts.options.node);
  }

  #newId(): string {
    return `${this.#run}.${++this.#made}`;
  }

  #channel(channel: string): SharedChannel {
    let shared = this.#channels.get(channel);
    if (shared === undefined) {
      const { store, options, sequence, deliver, onError, onDropped, onBad } = this.#parts;
      shared = new SharedChannel({
        channel,
        store,
        onBad,
        onUnsaved: onError,
        onDropped: () => onDropped(channel),
        mostUnsent: options.waitingChanges,
        lastStamp: () => sequence.last,
        deliver: (change) => {
          if (this.#isDelivering) deliver(channel, change);
        },
      });
      this.#channels.set(channel, shared);
    }
    return shared;
  }
}
