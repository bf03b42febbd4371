/**
 * The engine of a node of a cluster: a change is decided here on the last common state, and committed by Redis if that is still the last one; else
 * it is decided again. All nodes, including this one, apply changes from the log, in its order.
 *
 *   decide on 7 ──► Redis: is 7 the last? ──► 8 is in the log ──► each node: its store ──► its tape, its readers ──► here: the answer
 *                                       └───► no, 8 is: decided again, when 8 has come
 *
 * While Redis is away, and until what was decided then is sent, a change is committed here only (shared-channel.ts). Tested by engine-contract.ts.
 */

import { randomUUID } from 'node:crypto';
import { retryLater, shuttingDown } from '../../base/refusal.js';
import { stampedChange } from '../../now-playing/stamp.js';
import type { Change, ChannelState } from '../../now-playing/state.js';
import type { Store } from '../../store/store.js';
import { channelRemoved, type Engine } from '../../titles/engine.js';
import type { ClusterTime } from '../cluster-time.js';
import type { LeaseAnswer, LeaseQuestion } from '../log/log-schema.js';
import type { OpenSharedLog, SharedLog } from '../log/shared-log.js';
import { LogArrivals, type LogArrivalsParts } from './log-arrivals.js';
import type { BadEntry, LogBell, LogEntry } from './log-entry.js';
import { LogPosition } from './log-position.js';
import { type Joined, NodeLink } from './node-link.js';
import { orderedAfter } from './ordered.js';
import { seenNodes } from './seen-nodes.js';
import { Sender } from './sender.js';
import { SharedChannel } from './shared-channel.js';

export interface ClusterOptions {
  /** The name of this node; no other has it. */
  readonly node: string;
  /** How many changes the log keeps at least. */
  readonly logEntries: number;
  /** How many changes of a channel wait for Redis at most. */
  readonly waitingChanges: number;
}

export interface ClusterEngineParts extends Pick<LogArrivalsParts, 'sequence' | 'onError'> {
  readonly options: ClusterOptions;
  readonly open: OpenSharedLog;
  readonly store: Store;
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
}

const RETRY_SECONDS = 2;

export class ClusterEngine implements Engine {
  /** For another connection to the shared log. */
  readonly open: OpenSharedLog;
  readonly #parts: ClusterEngineParts;
  readonly #channels = new Map<string, SharedChannel>();
  readonly #link: NodeLink;
  readonly #sender: Sender;
  readonly #arrivals: LogArrivals;
  readonly #position: LogPosition;
  /** Prefix of all ids that this process makes. */
  readonly #run = randomUUID();
  #made = 0;
  #log: SharedLog | null = null;
  /** The cluster time. */
  readonly time: ClusterTime;
  #isDelivering = false;
  #isClosed = false;

  constructor(parts: ClusterEngineParts) {
    const { options, sequence, onError } = parts;
    this.open = parts.open;
    this.#parts = parts;
    this.#position = new LogPosition(parts.store);
    this.time = parts.makeTime(this.#position.skewMs);
    this.#link = new NodeLink({
      open: parts.open,
      position: () => this.#position.position,
      channels: () => [...this.#channels.keys()],
      isWhole: () => this.#position.isWhole,
      lastStamp: () => sequence.last,
      time: this.time,
      onJoined: (joined) => this.#onJoined(joined),
      onEntry: (entry) => this.#onEntry(entry),
      onPast: (entry) => this.#arrivals.take(entry),
      onCaughtUp: (isOther) => {
        this.#position.onCaughtUp();
        this.#arrivals.onCaughtUp(isOther ? this.#log : null);
      },
      onLost: (reason) => this.#onLost(reason),
    });
    this.#sender = new Sender({ ...options, link: this.#link, sequence, has: parts.has, onError });
    this.#arrivals = new LogArrivals({
      ...parts,
      link: this.#link,
      sender: this.#sender,
      node: options.node,
      nowMs: () => this.time.ms(),
      channels: () => this.#channels.values(),
      channel: (key) => this.#channel(key),
      newId: () => this.#newId(),
    });
  }

  /** Resolves after the first attempt to join, which is repeated in the background. Until `begin` changes are applied but not delivered. */
  async join(channels: readonly string[]): Promise<void> {
    for (const channel of channels) this.#channel(channel);
    this.#position.begin(channels);
    await this.#link.start();
    await this.#settled();
  }

  /** Delivers changes from now on. */
  begin(): void {
    this.#isDelivering = true;
  }

  /** Reads the last values, and the past, of channels that were added to the configuration. */
  learn(added: readonly string[]): void {
    for (const channel of added) this.#channel(channel);
    this.#position.expect(added);
    this.#arrivals.expect(added, this.#log);
    this.#link.reread();
  }

  /** Asks for leases. Null: Redis is away. Rejects as Redis does. */
  async lease(asked: LeaseQuestion): Promise<LeaseAnswer | null> {
    return this.#log === null ? null : await this.#sender.lease(this.#log, asked);
  }

  /** By name; empty while Redis is away. Rejects as Redis does. */
  async nodes(): ReturnType<typeof seenNodes> {
    return this.#log === null ? new Map() : await seenNodes(this.#log, this.time.ms());
  }

  /** Whether the shared log is reached. */
  get isReached(): boolean {
    return this.#log !== null;
  }

  /** The number of the last entry that was read. */
  get seq(): number {
    return this.#position.seq;
  }

  /** How long ago the log was last read to its end, milliseconds; less than two seconds while it is reached. */
  get behindMs(): number {
    return performance.now() - this.#link.readMs;
  }

  /** Number of changes that wait for Redis. */
  get waiting(): number {
    return [...this.#channels.values()].reduce((waiting, { unsent }) => waiting + unsent.length, 0);
  }

  state(channel: string): ChannelState {
    const { state } = this.#channel(channel);
    this.#parts.sequence.follow(state.stamp ?? 0);
    return state;
  }

  update(channel: string, decide: (state: ChannelState) => Change | null): Promise<Change | null> {
    if (this.#isClosed) return Promise.reject(shuttingDown(RETRY_SECONDS));
    const shared = this.#channel(channel);
    return shared.decisions.run(() => this.#turn(shared, decide));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#channels.values()].map(({ decisions }) => decisions.settled));
    await this.#link.close();
    await this.savePosition();
  }

  /** Saves the position in the log, from which this node continues after a restart. Called periodically and at the end. Never rejects. */
  async savePosition(): Promise<void> {
    const channels = [...this.#channels.keys()].filter(this.#parts.has);
    await this.#position.save(this.time.skewMs, channels, () => this.#settled()).catch(this.#parts.onError);
  }

  /** Resolves when all entries that were read are applied. */
  async #settled(): Promise<void> {
    await Promise.all([...this.#channels.values()].map(({ settled }) => settled));
  }

  async #turn(shared: SharedChannel, decide: (state: ChannelState) => Change | null): Promise<Change | null> {
    for (;;) {
      await this.#link.awake();
      await shared.settled;
      // A reload may have removed it while the change waited for its turn, or for Redis.
      if (!this.#parts.has(shared.channel)) throw channelRemoved();
      const log = this.#log;
      if (log === null || shared.unsent.length > 0) return await this.#commitHere(shared, decide, null, '');
      const change = decide(shared.state);
      if (change === null) return null;
      const id = this.#newId();
      const ordered = orderedAfter(shared.base, shared.state, change.state, this.#decided(shared));
      const made = await this.#sender.commit(log, shared, ordered, change, id);
      if (made !== null) return made;
      if (log.isLost) {
        await this.#link.awake();
        if (!this.#parts.has(shared.channel)) throw channelRemoved();
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
      throw retryLater('unavailable', 'The change could not be saved. Nothing was applied.', RETRY_SECONDS);
    } finally {
      if (stamp !== null) sequence.settle(stamp);
      if (this.#log !== null) void this.#sender.flush(this.#log, shared);
    }
  }

  #onJoined({ log, epoch, isOther, last }: Joined): void {
    this.#log = log;
    this.#position.join(epoch, this.#link.seq, last === null);
    this.#arrivals.onJoined(log, last, isOther);
    this.#parts.onReached(null);
  }

  #onLost(reason: Error): void {
    this.#log = null;
    this.#sender.onLost();
    for (const shared of this.#channels.values()) shared.wake();
    // On close it was ended by this node.
    if (!this.#isClosed) this.#parts.onReached(reason);
  }

  #onEntry(entry: LogEntry | LogBell | BadEntry): void {
    this.#position.onRead(entry.seq, entry.id, this.#link.isReadingPast);
    if ('bad' in entry || 'ordered' in entry) void this.#arrivals.take(entry);
    else this.#parts.onBell?.();
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
        maxUnsent: options.waitingChanges,
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
