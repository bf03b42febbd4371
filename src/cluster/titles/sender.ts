/**
 * Sends changes to Redis, and waits until they come back from the log and are applied here. One change per channel is in progress at a time. Changes
 * that were committed on this node only are sent in order, merged with those of the others (merge.ts).
 */

import type { Sequence } from '../../feed/sequence.js';
import { encode } from '../../metadata/codec.js';
import type { Change, ChannelState } from '../../now-playing/state.js';
import { channelRemoved } from '../../titles/engine.js';
import type { LeaseAnswer, LeaseQuestion } from '../log/log-schema.js';
import { LogLost, type SharedLog } from '../log/shared-log.js';
import type { NodeLink } from './node-link.js';
import type { Ordered } from './ordered.js';
import type { SharedChannel } from './shared-channel.js';

export interface SenderParts {
  readonly link: Pick<NodeLink, 'commit' | 'refused' | 'rejoin' | 'seq'>;
  readonly sequence: Pick<Sequence, 'last'>;
  readonly node: string;
  /** How many changes the log keeps at least. */
  readonly logEntries: number;
  /** Whether the channel is configured here: entries of others are not applied. */
  has(channel: string): boolean;
  /** Redis does not take changes. */
  onError(error: unknown): void;
}

/** In the log; not decided on the last state; in the log already; unknown, as the connection is lost. */
type Outcome = 'sent' | 'stale' | 'done' | 'lost';

interface UnderWay {
  readonly change: Change;
  readonly onMade: (made: Change | null) => void;
  readonly onBad: (reason: Error) => void;
}

/** How long an entry that is in the log may take to arrive here. */
const NEWS_MS = 1000;

export class Sender {
  readonly #parts: SenderParts;
  /** Changes in progress, by id. */
  readonly #own = new Map<string, UnderWay>();
  readonly #flushing = new Set<SharedChannel>();

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** The change in progress with this id; null: none. */
  own(id: string): Change | null {
    return this.#own.get(id)?.change ?? null;
  }

  /** The change was applied. @param made as it was delivered */
  onMade(id: string, made: Change | null): void {
    this.#own.get(id)?.onMade(made);
  }

  /** The change came back malformed: to decide it again would loop. */
  onBad(id: string, reason: Error): void {
    this.#own.get(id)?.onBad(reason);
  }

  /** The change is in the log, its channel was removed here meanwhile. */
  onRemoved(channel: string, id: string): void {
    this.onBad(id, channelRemoved());
    for (const shared of this.#flushing) if (shared.channel === channel) shared.wake();
  }

  /** The connection is lost: pending changes resolve with null. */
  onLost(): void {
    for (const { onMade } of this.#own.values()) onMade(null);
  }

  /**
   * Resolves with the change once it is applied here; with null if it was not committed, or may be in the log without an answer.
   * Rejects with the reason given to `onBad`. @param ordered the resulting state
   */
  async commit(
    log: SharedLog,
    shared: SharedChannel,
    ordered: Ordered,
    change: Change,
    id: string,
  ): Promise<Change | null> {
    const made = new Promise<Change | null>((resolve, reject) => {
      this.#own.set(id, { change, onMade: resolve, onBad: reject });
    });
    // The entry may arrive before the answer of Redis.
    made.catch(() => undefined);
    try {
      const outcome = await this.#send(log, shared, ordered, change.record !== null, change.history, id);
      return outcome === 'sent' && !log.isLost ? await made : null;
    } finally {
      this.#own.delete(id);
    }
  }

  /** Asks for leases. Rejects as the log does; one that refuses them takes no changes either. */
  async lease(log: SharedLog, asked: LeaseQuestion): Promise<LeaseAnswer> {
    try {
      return await log.lease(asked);
    } catch (error) {
      if (!log.isLost) this.#parts.link.refused(log, (error as Error).message);
      throw error;
    }
  }

  /** Sends all changes that were committed on this node only, until the connection is lost or the channel is removed. Never rejects. */
  async flush(log: SharedLog, shared: SharedChannel): Promise<void> {
    if (this.#flushing.has(shared)) return;
    this.#flushing.add(shared);
    try {
      await shared.settled;
      while (shared.unsent.length > 0 && this.#isOpen(log, shared)) await this.#sendFirst(log, shared);
    } catch (error) {
      this.#parts.onError(error);
    } finally {
      this.#flushing.delete(shared);
    }
  }

  async #sendFirst(log: SharedLog, shared: SharedChannel): Promise<void> {
    const one = shared.unsent[0]!;
    const merged = shared.mergedFirst();
    if (merged === null) {
      await shared.forgetUnsent(one.id, true);
      return;
    }
    const { ordered, hasRecord, history } = merged;
    const outcome = await this.#send(log, shared, ordered, hasRecord, history, one.id);
    const isThere = () => shared.unsent[0]?.id !== one.id || !this.#isOpen(log, shared);
    if (outcome === 'sent') {
      while (!isThere()) await shared.changed();
    } else if (outcome === 'done') {
      // The entry may have been trimmed before this node read it.
      await Promise.race([shared.changed(), pause(NEWS_MS)]);
      await shared.settled;
      if (!isThere()) await shared.forgetUnsent(one.id, false);
    }
  }

  #isOpen(log: SharedLog, { channel }: SharedChannel): boolean {
    return !log.isLost && this.#parts.has(channel);
  }

  /** If the node's state is outdated, waits for the last one. */
  async #send(
    log: SharedLog,
    shared: SharedChannel,
    { state, now, next }: Ordered,
    hasRecord: boolean,
    history: Change['history'],
    id: string,
  ): Promise<Outcome> {
    const { link, sequence, node, logEntries, onError } = this.#parts;
    const before = shared.base.state.version;
    const change = {
      channel: shared.channel,
      before,
      version: state.version,
      hasRecord,
      lastStamp: sequence.last,
      ordered: encode({ state: withoutStamp(state), now, next }),
      history: encode(history),
      id,
      node,
      logEntries,
    };
    try {
      const { verdict, number } = await link.commit(log, change);
      if (verdict === 'ok') return 'sent';
      // The log has lost the known version: read all last values, then send this one.
      if (verdict === 'stale' && number < before) link.rejoin();
      else if (verdict === 'stale' && !(await this.#isKnown(log, shared, number))) {
        // All last values were read since, without this version: it cannot be read.
        if (shared.unknownVersion === number) await shared.skip(number);
        else link.rejoin();
        shared.unknownVersion = number;
      }
      return verdict === 'epoch' ? 'lost' : verdict;
    } catch (error) {
      if (!(error instanceof LogLost)) {
        // Redis refuses writes (memory, disk): treated as lost.
        onError(error);
        link.refused(log, (error as Error).message);
      }
      return 'lost';
    }
  }

  /** Resolves with true when this node has that version; with false if it does not arrive in time. */
  async #isKnown(log: SharedLog, shared: SharedChannel, version: number): Promise<boolean> {
    const endMs = performance.now() + NEWS_MS;
    for (;;) {
      await shared.settled;
      if (shared.base.state.version >= version || log.isLost) return true;
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) return false;
      await Promise.race([shared.changed(), pause(leftMs)]);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/** Without the stamp, which each node has of its own. */
function withoutStamp({ stamp: _, ...state }: ChannelState): ChannelState {
  return state;
}
