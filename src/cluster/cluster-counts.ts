/**
 * How many listen to each channel on the other machines: a channel's `maxListeners` is of all machines together. Each says what its own workers have,
 * where that has changed, over its bridges (session-bridge.ts); to the tallies of a hub (link/facts/hub-tallies.ts) another machine is one more
 * process, which hears nothing. So a limit may be passed by what happens on several machines within half a second, and no further.
 */

import { LISTENERS_OF_CHANNELS } from '../channel/mount.js';
import type { HubTallies } from '../link/facts/hub-tallies.js';
import type { TallySender } from '../link/facts/worker-tallies.js';

export interface ListenerCountsParts {
  /** Of this hub. */
  readonly counted: HubTallies;
  channels(): Iterable<string>;
}

/** One machine. */
export interface OtherCounts {
  /** What was said to it of us. */
  readonly said: Map<string, number>;
  /** It learns nothing from the tallies: each machine speaks for itself. */
  readonly sender: TallySender;
}

export class ClusterCounts {
  readonly #parts: ListenerCountsParts;
  readonly #others = new Set<TallySender>();

  constructor(parts: ListenerCountsParts) {
    this.#parts = parts;
  }

  /** Another machine is there. */
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

  /** How many listen there, by channel. */
  hear({ sender }: OtherCounts, channels: readonly (readonly [channel: string, count: number])[]): void {
    const counts = [[LISTENERS_OF_CHANNELS, channels]] as const;
    this.#parts.counted.hear(sender, { type: 'tallies', rows: { counts, peaks: [], notices: [] }, isFirst: false });
  }

  /** What has changed here since it was said to that one. */
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
