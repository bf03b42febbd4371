/**
 * Where playlists and statistics (http/stream/playlists.ts, http/stream/status.ts) get what they tell: each channel's programme, its title from
 * the feed, its listeners from the census. Everything is read when somebody asks. Registered by network.ts.
 */

import type { FastifyInstance } from 'fastify';
import type { Clock } from '../base/clock.js';
import type { Channel } from '../channel/channel.js';
import type { LoadedConfig } from '../config/load.js';
import type { Feed } from '../feed/feed.js';
import type { MountStatus } from '../http/stream/mount-status.js';
import { registerPlaylists } from '../http/stream/playlists.js';
import { type ProxyTrust, PublicUrl } from '../http/stream/public-url.js';
import { registerStatus } from '../http/stream/status.js';
import type { ListenerStats } from '../listener/listener-stats.js';

export interface StatisticsParts {
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly feed: Feed;
  readonly listenerStats: ListenerStats;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly trust: ProxyTrust;
}

export function registerStatistics(app: FastifyInstance, parts: StatisticsParts): void {
  const { config, clock, feed, listenerStats, channels: programmes } = parts;
  const shown = [...programmes.values()].map((programme) => shownOf(programme, feed, listenerStats, config));
  const base = new PublicUrl(config.streams.publicUrl, parts.trust);
  registerPlaylists(app, shown, base);
  registerStatus(app, { shown, base, server: config.streams.server, startedMs: clock.wallMs() });
}

function shownOf(programme: Channel, feed: Feed, listenerStats: ListenerStats, config: LoadedConfig): MountStatus {
  const { key, audio: channel, mounts } = programme;
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
      return channel.contentType;
    },
    get bitrateKbps() {
      return channel.bitrateKbps;
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
      return programme.heardSinceMs;
    },
    get title() {
      return feed.last(key, 'now')?.title ?? '';
    },
  };
}
