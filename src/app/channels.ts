/** The channels of the configuration, and the stations that they belong to. */

import { Channel, type ChannelParts } from '../channel/channel.js';
import type { LoadedConfig } from '../config/load.js';
import type { Feed } from '../feed/feed.js';

/** Makes every channel and announces it to the feed, stations and channels in configured order. */
export function makeChannels(config: LoadedConfig, feed: Feed, parts: ChannelParts): Map<string, Channel> {
  const made = new Map<string, Channel>();
  for (const { station, channels } of config.order) {
    const { timezone, channels: configs } = config.stations[station]!;
    const faces = channels.map((key) => ({ key, name: configs[key]!.name, station, timezone }));
    feed.addStation(station, faces);
    for (const key of channels) made.set(key, new Channel(key, configs[key]!, config, parts));
  }
  return made;
}
