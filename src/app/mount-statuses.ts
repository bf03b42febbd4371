/**
 * Each channel as playlists and statistics report it: its mount, its title from the feed, its listeners and their lag. Everything is read when it is
 * asked for.
 */

import type { ServedChannel } from '../channel/served.js';
import type { LoadedConfig } from '../config/load.js';
import type { Feed } from '../feed/feed.js';
import type { MountStatus } from '../http/stream/mount-status.js';
import type { Audience } from '../listener/audience.js';
import type { ListenerStats } from '../listener/listener-stats.js';

export interface StatusParts {
  readonly feed: Feed;
  readonly audience: Audience;
  readonly listenerStats: ListenerStats;
}

/** Every channel as playlists and statistics report it. */
export function mountStatuses(
  channels: ReadonlyMap<string, ServedChannel>,
  parts: StatusParts,
  config: LoadedConfig,
): readonly MountStatus[] {
  return [...channels.values()].map((channel) => statusOf(channel, parts, config));
}

function statusOf(
  channel: ServedChannel,
  { feed, audience, listenerStats }: StatusParts,
  { limits }: LoadedConfig,
): MountStatus {
  const { key, mounts } = channel;
  const mount = mounts[0]!;
  return {
    mount,
    // The key is always the first mount; an operator who configured another knows the channel by that one.
    paths: [...mounts.slice(1), mount].map(({ path }) => path),
    counts: listenerStats.counts(key),
    maxListeners: Math.min(mount.maxListeners, limits.listeners),
    get onAirSinceMs() {
      return channel.live.onAirSinceMs;
    },
    get typicalLagMs() {
      return audience.typicalLagMs(channel.audio);
    },
    get title() {
      return feed.last(key, 'now')?.title ?? '';
    },
    get nextTitle() {
      return feed.last(key, 'next')?.title ?? '';
    },
  };
}
