/**
 * The numbers of listeners of each channel on the other machines, as `maxListeners` counts all machines together. Each machine sends the changed
 * numbers of its own workers over its bridges (session-bridge.ts). To the tallies of a hub (link/facts/hub-tallies.ts) another machine is one more
 * process, which is sent nothing. So several machines together may exceed a limit within half a second, and no further.
 */

import { LISTENERS_OF_CHANNELS } from '../channel/mount.js';
import type { HubTallies } from '../link/facts/hub-tallies.js';
import type { TallySender } from '../link/facts/worker-tallies.js';

export interface ListenerCountsParts {
  /** The tallies of this hub. */
  readonly counted: HubTallies;
  channels(): Iterable<string>;
}

/** One machine. */
export interface OtherCounts {
  /** The numbers that it was sent last. */
  readonly said: Map<string, number>;
  /** It is sent nothing by the tallies, as each machine sends its own numbers. */
  readonly sender: TallySender;
}

export class ClusterCounts {
  readonly #parts: ListenerCountsParts;
  readonly #others = new Set<TallySender>();

  constructor(parts: ListenerCountsParts) {
    this.#parts = parts;
  }

  /** Another machine has linked. */
  enter(): OtherCounts {
    const sender: TallySender = { isFull: true, isDeaf: true, send: () => undefined };
    this.#others.add(sender);
    this.#parts.counted.enter(sender);
    return { said: new Map(), sender };
  }

  leave({ sender }: OtherCounts): void {
    this.#others.delete(sender);
    this.#parts.counted.leave(sender);
  }

  /** Takes its numbers of listeners, by channel. */
  hear({ sender }: OtherCounts, channels: readonly (readonly [channel: string, count: number])[]): void {
    const counts = [[LISTENERS_OF_CHANNELS, channels]] as const;
    this.#parts.counted.hear(sender, { type: 'tallies', rows: { counts, peaks: [], notices: [] }, isFirst: false });
  }

  /** The numbers here that have changed since it was sent them. */
  news({ said }: OtherCounts): readonly (readonly [channel: string, count: number])[] {
    const { counted, channels } = this.#parts;
    const news: [string, number][] = [];
    for (const channel of channels()) {
      const own = counted.without(this.#others, LISTENERS_OF_CHANNELS, channel);
      if (own === (said.get(channel) ?? 0)) continue;
      said.set(channel, own);
      news.push([channel, own]);
    }
    return news;
  }
}
