/**
 * Passes what a node reads from the log (new entries, past entries, last values) to its channels. Everything is checked first; malformed values are
 * skipped. Owned by the engine.
 */

import { retryLater } from '../../base/refusal.js';
import type { Sequence } from '../../feed/sequence.js';
import type { SharedLog } from '../log/shared-log.js';
import type { BadEntry, BadLast, LastValues, LogBell, LogEntry } from './log-entry.js';
import type { NodeLink } from './node-link.js';
import { playOf } from './one-history.js';
import { NOTHING, type Ordered } from './ordered.js';
import { aheadFault } from './ordered-schema.js';
import type { Sender } from './sender.js';
import type { SharedChannel } from './shared-channel.js';

export interface LogArrivalsParts {
  readonly link: Pick<NodeLink, 'isCatchingUp' | 'last'>;
  readonly sender: Pick<Sender, 'flush' | 'onBad' | 'onMade' | 'onRemoved' | 'own'>;
  readonly sequence: Sequence;
  readonly node: string;
  /** Unix milliseconds of the cluster time. */
  nowMs(): number;
  channels(): Iterable<SharedChannel>;
  channel(key: string): SharedChannel;
  /** See ClusterEngineParts. */
  has(channel: string): boolean;
  onBad(place: string, reason: string): void;
  onError(error: unknown): void;
  newId(): string;
}

const RETRY_SECONDS = 2;

export class LogArrivals {
  readonly #parts: LogArrivalsParts;
  /** Channels added since the last values were read. */
  readonly #unread = new Set<string>();
  /** The plays found in the log while it is read after a joining, by channel, with the highest version of each. */
  readonly #seen = new Map<string, Map<string, number>>();

  constructor(parts: LogArrivalsParts) {
    this.#parts = parts;
  }

  /** Has the last values of these channels read: now, or when Redis is reached again. */
  expect(channels: readonly string[], log: SharedLog | null): void {
    for (const channel of channels) this.#unread.add(channel);
    if (log !== null) void this.#readUnread(log);
  }

  /** The node has joined. @param last of all channels; null: the log continues from where this node was @param isOther as Joined has it */
  onJoined(log: SharedLog, last: LastValues | null, isOther: boolean): void {
    this.#seen.clear();
    for (const shared of this.#parts.channels()) {
      // One that was added meanwhile was not asked for.
      if (last !== null && !this.#unread.has(shared.channel)) this.#restart(shared, last.get(shared.channel), isOther);
      // In another life of the data, once it is known what others have sent there (`onCaughtUp`).
      if (!isOther) void this.#parts.sender.flush(log, shared);
    }
    void this.#readUnread(log, isOther);
  }

  /** An entry of the log. Resolves when it is applied, or skipped, as a bell is. */
  async take(entry: LogEntry | LogBell | BadEntry): Promise<void> {
    if (!('bad' in entry || 'ordered' in entry)) return;
    const { link, sender, sequence, has, onBad, onError } = this.#parts;
    const { seq, id } = entry;
    const shared = has(entry.channel) ? this.#parts.channel(entry.channel) : null;
    const bad = this.#faultOf(shared, entry, 'bad' in entry ? [] : entry.history);
    if (bad !== null || 'bad' in entry) {
      onBad(`entry ${seq} of the log`, bad!);
      shared?.skip('bad' in entry ? entry.version : entry.ordered.state.version).catch(onError);
      sender.onBad(id, retryLater('unavailable', 'The cluster did not accept the change.', RETRY_SECONDS));
      return;
    }
    const { channel, stamp, ordered, history } = entry;
    if (link.isCatchingUp) this.#noteSeen(channel, history);
    if (shared === null) {
      sequence.follow(stamp);
      sender.onRemoved(channel, id);
      return;
    }
    if (stamp > 0) sequence.expect(stamp);
    await shared
      .arrive({ ordered, history, id, own: sender.own(id) })
      .then(
        (made) => sender.onMade(id, made),
        (error: unknown) => {
          onError(error);
          sender.onMade(id, null);
        },
      )
      .finally(() => sequence.settle(stamp));
  }

  /** The log was read to its end. @param lacking the log, if it has lost data: it is sent the plays that it lacks; null: it has not lost any */
  onCaughtUp(lacking: SharedLog | null): void {
    const { sender, node, channels, newId, onError } = this.#parts;
    for (const shared of lacking === null ? [] : channels()) {
      shared
        .sendHistory(this.#seen.get(shared.channel) ?? new Map(), newId, { atMs: 1, node })
        .then(() => sender.flush(lacking!, shared), onError);
    }
    this.#seen.clear();
  }

  /** Never rejects. */
  async #readUnread(log: SharedLog, isOther = false): Promise<void> {
    const { link, sender, channel, onError } = this.#parts;
    const keys = [...this.#unread];
    if (keys.length === 0) return;
    try {
      const last = await link.last(log, keys);
      for (const key of keys) {
        this.#unread.delete(key);
        this.#restart(channel(key), last.get(key), isOther);
        void sender.flush(log, channel(key));
      }
    } catch (error) {
      // Retried when Redis is reached again.
      if (!log.isLost) onError(error);
    }
  }

  #restart(shared: SharedChannel, last: Ordered | BadLast | undefined, isOther: boolean): void {
    const { node, newId, onBad, onError } = this.#parts;
    const bad = last === undefined ? null : this.#faultOf(shared, last, []);
    if (bad !== null) {
      onBad(`the last value of channel ${shared.channel}`, bad);
      shared.skip('bad' in last! ? last.version : last!.state.version).catch(onError);
      return;
    }
    const decided = { atMs: shared.base.state.now?.effectAtMs ?? 1, node };
    shared.restart((last as Ordered | undefined) ?? NOTHING, isOther, newId(), decided).catch(onError);
  }

  /** Why a value from outside is rejected; null: it is accepted. */
  #faultOf(
    shared: SharedChannel | null,
    said: LogEntry | BadEntry | Ordered | BadLast,
    history: LogEntry['history'],
  ): string | null {
    if ('bad' in said) return said.bad;
    const ordered = 'ordered' in said ? said.ordered : said;
    return aheadFault(ordered, history, this.#parts.nowMs(), shared?.base.state.version ?? 0);
  }

  #noteSeen(channel: string, history: LogEntry['history']): void {
    const seen = this.#seen.get(channel) ?? new Map<string, number>();
    for (const entry of history) {
      const play = playOf(entry);
      seen.set(play, Math.max(seen.get(play) ?? 0, entry.record.version));
    }
    this.#seen.set(channel, seen);
  }
}
