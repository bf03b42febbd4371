/**
 * Where playlists and statistics (http/stream/playlists.ts, http/stream/status.ts) get what they say: the channel, its title from the feed, its
 * listeners from the census. Everything is read at the request. Registered by network.ts.
 */

import type { FastifyInstance } from 'fastify';
import type { Clock } from '../base/clock.js';
import type { Channel } from '../channel/channel.js';
import type { LoadedConfig } from '../config/load.js';
import type { Feed } from '../feed/feed.js';
import { registerPlaylists } from '../http/stream/playlists.js';
import { type ProxyTrust, PublicUrl } from '../http/stream/public-url.js';
import { type MountStatus, registerStatus } from '../http/stream/status.js';
import type { Census } from '../listener/census.js';

export interface StatisticsParts {
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly feed: Feed;
  readonly census: Census;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly trust: ProxyTrust;
}

export function registerStatistics(app: FastifyInstance, parts: StatisticsParts): void {
  const { config, clock } = parts;
  const channels = [...parts.channels.values()].map((channel) => statusOf(channel, parts));
  const publicUrl = new PublicUrl(config.streams.publicUrl, parts.trust);
  registerPlaylists(app, channels, publicUrl);
  registerStatus(app, { channels, publicUrl, server: config.streams.server, startedMs: clock.wallMs() });
}

function statusOf(channel: Channel, { feed, census, config }: StatisticsParts): MountStatus {
  const { key, mounts } = channel;
  const mount = mounts[0]!;
  return {
    mount,
    // The key is always the first mount; an operator who configured another knows the channel by that one.
    paths: [...mounts.slice(1), mount].map(({ path }) => path),
    tally: census.tally(key),
    maxListeners: Math.min(mount.maxListeners, config.limits.listeners),
    get heardSinceMs() {
      return channel.heardSinceMs;
    },
    get title() {
      return feed.last(key, 'now')?.title ?? '';
    },
  };
}
