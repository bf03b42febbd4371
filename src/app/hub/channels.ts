/** The channels of the configuration, with their sources. */

import { Channel, type ChannelParts } from '../../channel/channel.js';
import type { ServedChannel } from '../../channel/served.js';
import { channelsOf } from '../../config/adopt.js';
import type { LoadedConfig } from '../../config/load.js';

/** The channels that a reload has added and removed. */
export interface ChannelChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export class Channels {
  /** Stations and channels in configured order. */
  readonly byKey = new Map<string, Channel>();
  /** The same as clients meet them. */
  readonly served = new Map<string, ServedChannel>();
  readonly #config: LoadedConfig;
  readonly #parts: ChannelParts;

  constructor(config: LoadedConfig, parts: ChannelParts) {
    this.#config = config;
    this.#parts = parts;
    this.refresh();
  }

  /** The configuration has changed in place. Removed channels release their sources; new ones are not started yet. */
  refresh(): ChannelChanges {
    const { order } = this.#config;
    const configs = channelsOf(this.#config);
    const keys = order.flatMap(({ channels }) => channels);
    const make = (key: string) => new Channel(key, configs.get(key)!, this.#config, this.#parts);
    const { added, removed } = refreshMap(this.byKey, keys, make);
    for (const channel of removed.values()) channel.stop();
    this.served.clear();
    for (const [key, { served }] of this.byKey) this.served.set(key, served);
    return { added, removed: [...removed.keys()] };
  }
}

/** Creates new entries and refreshes the others; the map then has these keys, in their order. */
export function refreshMap<T extends { refresh(): void }>(
  byKey: Map<string, T>,
  keys: Iterable<string>,
  make: (key: string) => T,
): { readonly added: readonly string[]; readonly removed: ReadonlyMap<string, T> } {
  const removed = new Map(byKey);
  const added: string[] = [];
  byKey.clear();
  for (const key of keys) {
    const known = removed.get(key);
    removed.delete(key);
    if (known === undefined) added.push(key);
    else known.refresh();
    byKey.set(key, known ?? make(key));
  }
  return { added, removed };
}
