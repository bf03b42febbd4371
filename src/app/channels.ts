/** The channels of the configuration, with their sources. */

import { Channel, type ChannelParts } from '../channel/channel.js';
import type { LoadedConfig } from '../config/load.js';

/** Makes every channel, stations and channels in configured order. */
export function makeChannels(config: LoadedConfig, parts: ChannelParts): Map<string, Channel> {
  const made = new Map<string, Channel>();
  for (const { station, channels } of config.order) {
    const { channels: configs } = config.stations[station]!;
    for (const key of channels) made.set(key, new Channel(key, configs[key]!, config, parts));
  }
  return made;
}
