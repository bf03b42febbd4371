/**
 * Where playlists and statistics (http/playlists.ts, http/status.ts) get what they tell: each channel's programme, its title from
 * the feed, its listeners from the census. Everything is read when somebody asks. Registered by network.ts.
 */

import type { FastifyInstance } from 'fastify';
import type { Clock } from './clock.js';
import type { LoadedConfig } from './config/load.js';
import { Base, type Trust } from './http/base.js';
import { registerPlaylists } from './http/playlists.js';
import type { Shown } from './http/shown.js';
import { registerStatus } from './http/status.js';
import type { Census } from './listener/census.js';
import type { Feed } from './metadata/feed.js';
import type { Programme } from './programme.js';

export interface StatisticsParts {
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly feed: Feed;
  readonly census: Census;
  readonly programmes: ReadonlyMap<string, Programme>;
  readonly trust: Trust;
}

export function registerStatistics(app: FastifyInstance, parts: StatisticsParts): void {
  const { config, clock, feed, census, programmes } = parts;
  const shown = [...programmes.values()].map((programme) => shownOf(programme, feed, census, config));
  const base = new Base(config.streams.publicUrl, parts.trust);
  registerPlaylists(app, shown, base);
  registerStatus(app, { shown, base, server: config.streams.server, startedMs: clock.wallMs() });
}

function shownOf(programme: Programme, feed: Feed, census: Census, config: LoadedConfig): Shown {
  const { key, channel, mounts } = programme;
  const mount = mounts[0]!;
  // The key is always the first mount; whoever configured another knows the channel by that one.
  const paths = [...mounts.slice(1), mount].map(({ path }) => path);
  return {
    paths,
    tally: census.tally(key),
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
