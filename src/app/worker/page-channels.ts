/** The channels of the page at `/`, as the configuration has them. */

import { hlsOf } from '../../config/hls-config.js';
import type { LoadedConfig } from '../../config/load.js';
import type { PageChannel } from '../../http/page.js';

export function pageChannels({ order, stations, streams }: LoadedConfig): PageChannel[] {
  return order.flatMap(({ station, channels }) =>
    channels.map((key) => {
      const channel = stations[station]!.channels[key]!;
      const { name, description, mounts } = channel;
      const mount = mounts[0] ?? `/${key}`;
      const hls = hlsOf(streams.hls, channel) === null ? '' : `${mount}/hls.m3u8`;
      return { station: stations[station]!.name || station, key, name: name || key, description, mount, hls };
    }),
  );
}
