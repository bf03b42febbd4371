/** The channels of the configuration as their records present them, and the stations that they belong to. */

import type { LoadedConfig } from '../config/load.js';
import type { Feed } from '../feed/feed.js';
import type { ChannelFace } from '../metadata/view.js';

/** By channel key, stations and channels in configured order. */
export function makeFaces(config: LoadedConfig): Map<string, ChannelFace> {
  const faces = config.order.flatMap(({ station, channels }) => {
    const { timezone, channels: configs } = config.stations[station]!;
    return channels.map((key): [string, ChannelFace] => [key, { key, name: configs[key]!.name, station, timezone }]);
  });
  return new Map(faces);
}

/** Announces them to the feed. */
export function announce(feed: Feed, config: LoadedConfig, faces: ReadonlyMap<string, ChannelFace>): void {
  for (const { station, channels } of config.order) {
    feed.addStation(
      station,
      channels.map((key) => faces.get(key)!),
    );
  }
}
