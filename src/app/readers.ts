/** Where readers of metadata come in: polling (with history) and watching. */

import type { Feed } from '../feed/feed.js';
import { PollAcceptor } from '../http/poll/accept.js';
import { Poll } from '../http/poll/poll.js';
import type { HttpService, UpgradeService } from '../http/service.js';
import { Nes } from '../http/watch/nes.js';
import { Watch } from '../http/watch/watch.js';
import type { HeardReports } from '../listener/heard-reports.js';
import type { Sessions } from '../listener/sessions.js';
import type { Store } from '../store/store.js';
import type { TitleService } from '../titles/service.js';
import type { Core } from './core.js';
import type { Guards } from './guards.js';

export interface ReaderParts {
  readonly feed: Feed;
  readonly sessions: Sessions;
  readonly reports: HeardReports;
  readonly store: Store;
  readonly titles: TitleService;
}

export class Readers {
  readonly polls: PollAcceptor;
  readonly watch: Watch;
  readonly services: readonly HttpService[];
  readonly upgrades: readonly UpgradeService[];

  constructor({ config, clock, onError }: Core, { proxies, connections }: Guards, parts: ReaderParts) {
    const { feed, sessions, reports, store, titles } = parts;
    const { limits } = config;
    const pingMs = config.watch.pingSeconds * 1000;
    const frames = limits.webSocketFrames;
    this.polls = new PollAcceptor(feed, clock, connections);
    this.watch = new Watch(feed, sessions, clock, {
      pingMs,
      bufferBytes: config.watch.bufferBytes,
      drainMs: config.watch.drainSeconds * 1000,
      watchers: limits.watchers,
      watchersPerAddress: limits.watchersPerAddress,
      frames,
      proxies,
      onError,
      reports,
    });
    const poll = new Poll(feed, sessions, {
      proxies,
      onError,
      history: {
        read: (channel, page) => store.history(channel, page),
        versionOf: (channel) => titles.versionOf(channel),
        entries: limits.historyEntries,
        pageBytes: limits.historyPageBytes,
        cacheBytes: limits.historyCacheBytes,
        waiting: limits.historyWaiting,
        waitingPerAddress: limits.historyWaitingPerAddress,
        bytesInFlight: limits.historyBytesInFlight,
        bytesInFlightPerAddress: limits.historyBytesInFlightPerAddress,
      },
    });
    const subscriptions = limits.nesSubscriptions;
    const nes = new Nes(this.watch.watchers, clock, { pingMs, subscriptions, frames, onError });
    this.services = [this.watch.sse, poll];
    this.upgrades = [nes, this.watch];
  }
}
