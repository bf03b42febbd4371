/**
 * Each channel as playlists and statistics report it: its mount, its title from the feed, its listeners and their lag. Everything is read when it is
 * asked for.
 */

import { mergeGetters, withGetters } from '../../base/getters.js';
import type { ServedChannel } from '../../channel/served.js';
import type { LoadedConfig } from '../../config/load.js';
import type { Feed } from '../../feed/feed.js';
import type { MountStatus } from '../../http/stream/mount-status.js';
import type { ListedStation } from '../../http/stream/stations-list.js';
import type { Audience } from '../../listener/cursor/audience.js';
import type { HlsCrowd } from '../../listener/hls/hls-crowd.js';
import type { ListenerStats } from '../../listener/listener-stats.js';

export interface StatusParts {
  readonly feed: Feed;
  readonly audience: Audience;
  readonly listenerStats: ListenerStats;
  readonly hlsCrowd: HlsCrowd;
}

/** Every channel, and the stations that they belong to, in configured order. */
export class MountStatuses {
  channels: readonly MountStatus[] = [];
  stations: readonly ListedStation[] = [];
  readonly #channels: ReadonlyMap<string, ServedChannel>;
  readonly #parts: StatusParts;
  readonly #config: LoadedConfig;

  constructor(channels: ReadonlyMap<string, ServedChannel>, parts: StatusParts, config: LoadedConfig) {
    this.#channels = channels;
    this.#parts = parts;
    this.#config = config;
    this.refresh();
  }

  /** Channels have come or gone, or have other mounts or names. */
  refresh(): void {
    const { order, stations } = this.#config;
    const parts = this.#parts;
    const known = new Map([...this.#channels].map(([key, channel]) => [key, statusOf(channel, parts, this.#config)]));
    this.channels = [...known.values()];
    this.stations = order.map(({ station, channels }) => {
      const { name, timezone } = stations[station]!;
      return { key: station, name: name || station, timezone, channels: channels.map((key) => known.get(key)!) };
    });
  }
}

function statusOf(
  channel: ServedChannel,
  { feed, audience, listenerStats, hlsCrowd }: StatusParts,
  { limits }: LoadedConfig,
): MountStatus {
  const { key, mounts } = channel;
  const mount = mounts[0]!;
  const known = {
    mount,
    // The key is always the first mount; an operator who configured another knows the channel by that one.
    paths: [...mounts.slice(1), mount].map(({ path }) => path),
    counts: listenerStats.counts(key),
  };
  return mergeGetters(
    known,
    withGetters({
      hlsListeners: () => hlsCrowd.count(key),
      maxListeners: () => Math.min(mount.maxListeners, limits.listeners),
      onAirSinceMs: () => channel.live.onAirSinceMs,
      typicalLagMs: () => audience.typicalLagMs(channel.audio),
      title: () => feed.last(key, 'now')?.title ?? '',
      nextTitle: () => feed.last(key, 'next')?.title ?? '',
      records: () => ({ now: feed.last(key, 'now')?.json ?? null, next: feed.last(key, 'next')?.json ?? null }),
    }),
  );
}
