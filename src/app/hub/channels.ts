/** The channels of the configuration, with their sources. */

import { Channel, type ChannelParts } from '../../channel/channel.js';
import type { LoadedConfig } from '../../config/load.js';

/** Which channels a reload has brought, and which it has taken. */
export interface ChannelChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export class Channels {
  /** Stations and channels in configured order. */
  readonly byKey = new Map<string, Channel>();
  readonly #config: LoadedConfig;
  readonly #parts: ChannelParts;

  constructor(config: LoadedConfig, parts: ChannelParts) {
    this.#config = config;
    this.#parts = parts;
    this.refresh();
  }

  /** The configuration has changed in place. What goes lets go of its sources; what is new has not begun. */
  refresh(): ChannelChanges {
    const before = new Map(this.byKey);
    const added: string[] = [];
    this.byKey.clear();
    for (const { station, channels } of this.#config.order) {
      const { channels: configs } = this.#config.stations[station]!;
      for (const key of channels) {
        const known = before.get(key);
        before.delete(key);
        if (known === undefined) added.push(key);
        else known.refresh();
        this.byKey.set(key, known ?? new Channel(key, configs[key]!, this.#config, this.#parts));
      }
    }
    for (const channel of before.values()) channel.stop();
    return { added, removed: [...before.keys()] };
  }
}
