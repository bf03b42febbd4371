/**
 * Sends changes to Redis, and waits for their news: that they have come back from the log, and are in force here. Of a channel one is under way at a
 * time. What was committed here alone is sent in order, merged with what the others have changed meanwhile (merge.ts).
 */

import type { Sequence } from '../../feed/sequence.js';
import { encode } from '../../metadata/codec.js';
import type { Change, ChannelState } from '../../now-playing/state.js';
import { LogLost, type SharedLog } from '../log/shared-log.js';
import { merge } from './merge.js';
import type { NodeLink } from './node-link.js';
import type { Ordered } from './ordered.js';
import type { SharedChannel } from './shared-channel.js';

export interface SenderParts {
  readonly link: Pick<NodeLink, 'commit' | 'rejoin' | 'seq'>;
  readonly sequence: Pick<Sequence, 'last'>;
  readonly node: string;
  /** How many changes the log keeps at least. */
  readonly logEntries: number;
  /** Redis does not take changes. */
  onError(error: unknown): void;
}

/** in the log; not decided on the last state; there already; not known, as the connection is lost. */
type Outcome = 'sent' | 'stale' | 'done' | 'lost';

interface UnderWay {
  readonly change: Change;
  readonly onMade: (made: Change | null) => void;
  readonly onBad: (reason: Error) => void;
}

/** How long a change that Redis knows, and this node does not, may be on its way. */
const NEWS_MS = 1000;

export class Sender {
  readonly #parts: SenderParts;
  /** What is under way, by id. */
  readonly #own = new Map<string, UnderWay>();
  readonly #flushing = new Set<SharedChannel>();

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** The change under this id, where it is under way here. */
  own(id: string): Change | null {
    return this.#own.get(id)?.change ?? null;
  }

  /** It is in force here. @param made as it was delivered */
  onMade(id: string, made: Change | null): void {
    this.#own.get(id)?.onMade(made);
  }

  /** It came back as nothing that can be believed: to decide it again would not end. */
  onBad(id: string, reason: Error): void {
    this.#own.get(id)?.onBad(reason);
  }

  /** The connection is lost: nobody waits for news of it. */
  onLost(): void {
    for (const { onMade } of this.#own.values()) onMade(null);
  }

  /**
   * Resolves with the change, once it is in force here; with null where it is not, or that is not known: then it may be in the log. Rejects with what
   * `onBad` was given.
   * @param ordered with the state that it makes
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
    // It may come before Redis has answered.
    made.catch(() => undefined);
    try {
      const outcome = await this.#send(log, shared, ordered, change.record !== null, change.history, id);
      return outcome === 'sent' && !log.isLost ? await made : null;
    } finally {
      this.#own.delete(id);
    }
  }

  /** Sends what was committed here alone, until nothing is left of it, or the connection is lost. Never rejects. */
  async flush(log: SharedLog, shared: SharedChannel): Promise<void> {
    if (this.#flushing.has(shared)) return;
    this.#flushing.add(shared);
    try {
      await shared.settled;
      while (shared.unsent.length > 0 && !log.isLost) await this.#sendFirst(log, shared);
    } catch (error) {
      this.#parts.onError(error);
    } finally {
      this.#flushing.delete(shared);
    }
  }

  async #sendFirst(log: SharedLog, shared: SharedChannel): Promise<void> {
    const one = shared.unsent[0]!;
    const merged = merge(shared.base, one);
    if (merged === null) {
      await shared.forgetUnsent(one.id);
      return;
    }
    const { ordered, hasRecord, history } = merged;
    const outcome = await this.#send(log, shared, ordered, hasRecord, history, one.id);
    const isThere = () => shared.unsent[0]?.id !== one.id || log.isLost;
    if (outcome === 'sent') {
      while (!isThere()) await shared.changed();
    } else if (outcome === 'done') {
      // Its entry may have been trimmed before this node read it.
      await Promise.race([shared.changed(), pause(NEWS_MS)]);
      await shared.settled;
      if (!isThere()) await shared.forgetUnsent(one.id);
    }
  }

  /** Where the node's state is not the last one, it waits until that has come. */
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
      // What is known here is there no more: all last values are read, and this one is sent.
      if (verdict === 'stale' && number < before) link.rejoin();
      else if (verdict === 'stale' && !(await this.#isKnown(log, shared, number))) {
        // All last values were read since, and this version was not among them: it cannot be known.
        if (shared.unknownVersion === number) await shared.skip(number);
        else link.rejoin();
        shared.unknownVersion = number;
      }
      return verdict === 'epoch' ? 'lost' : verdict;
    } catch (error) {
      if (!(error instanceof LogLost)) {
        // It takes no changes (memory, disk): as good as away.
        onError(error);
        log.close();
      }
      return 'lost';
    }
  }

  /** Resolves when this node knows that version. False: it has not come in time. */
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

/** Each node has its own. */
function withoutStamp({ stamp: _, ...state }: ChannelState): ChannelState {
  return state;
}
