/** Each channel as playlists and statistics report it: its mount, its title from the feed, its listeners. Everything is read when it is asked for. */

import type { Channel } from '../channel/channel.js';
import type { LoadedConfig } from '../config/load.js';
import type { Feed } from '../feed/feed.js';
import type { MountStatus } from '../http/stream/mount-status.js';
import type { ListenerStats } from '../listener/listener-stats.js';

/** Every channel as playlists and statistics report it. */
export function mountStatuses(
  channels: ReadonlyMap<string, Channel>,
  feed: Feed,
  listenerStats: ListenerStats,
  config: LoadedConfig,
): readonly MountStatus[] {
  return [...channels.values()].map((channel) => statusOf(channel, feed, listenerStats, config));
}

function statusOf(channel: Channel, feed: Feed, listenerStats: ListenerStats, config: LoadedConfig): MountStatus {
  const { key, audio, mounts } = channel;
  const mount = mounts[0]!;
  // The key is always the first mount; whoever configured another knows the channel by that one.
  const paths = [...mounts.slice(1), mount].map(({ path }) => path);
  return {
    paths,
    tally: listenerStats.counts(key),
    maxListeners: Math.min(mount.maxListeners, config.limits.listeners),
    get name() {
      return mount.facts.name;
    },
    get genre() {
      return mount.facts.genre;
    },
    get url() {
      return mount.facts.url;
    },
    get description() {
      return mount.facts.description;
    },
    get contentType() {
      return audio.contentType;
    },
    get bitrateKbps() {
      return audio.bitrateKbps;
    },
    get audioInfo() {
      return mount.facts.audioInfo;
    },
    get sampleRate() {
      return mount.facts.sampleRate;
    },
    get channels() {
      return mount.facts.channels;
    },
    get onAir() {
      return mount.hasAudio || mount.onDemand;
    },
    get heardSinceMs() {
      return channel.heardSinceMs;
    },
    get title() {
      return feed.last(key, 'now')?.title ?? '';
    },
  };
}
