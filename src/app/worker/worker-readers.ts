/** Readers of metadata: polls (with history) and watchers. */

import { measured } from '../../base/watchdog.js';
import type { Feed } from '../../feed/feed.js';
import type { HttpService, UpgradeService } from '../../http/http-service.js';
import { CoverFiles } from '../../http/poll/cover-files.js';
import { Poll } from '../../http/poll/poll.js';
import { PollAcceptor } from '../../http/poll/poll-acceptor.js';
import { Nes } from '../../http/watch/nes.js';
import { Watch } from '../../http/watch/web-socket-watch.js';
import type { HeardReports } from '../../listener/sessions/heard-reports.js';
import type { SessionDirectory } from '../../listener/sessions/readable-session.js';
import type { HistoryStore } from '../../store/store.js';
import type { Core } from '../core.js';
import type { Guards } from './guards.js';

export interface ReaderParts {
  readonly feed: Feed;
  /** Of this process and others. */
  readonly directory: SessionDirectory;
  readonly reports: HeardReports;
  readonly history: HistoryStore;
  /** The version of a channel's state: another number after each committed change. */
  versionOf(channel: string): number;
}

export class Readers {
  readonly polls: PollAcceptor;
  readonly watch: Watch;
  readonly services: readonly HttpService[];
  readonly upgrades: readonly UpgradeService[];

  constructor({ config, clock, onError, tallies }: Core, { proxies, connections }: Guards, parts: ReaderParts) {
    const { feed, directory, reports, history, versionOf } = parts;
    const { limits } = config;
    this.polls = new PollAcceptor(feed, clock, connections);
    this.watch = new Watch(feed, directory, clock, {
      get pingMs() {
        return config.watch.pingSeconds * 1000;
      },
      get bufferBytes() {
        return config.watch.bufferBytes;
      },
      get drainMs() {
        return config.watch.drainSeconds * 1000;
      },
      get watchers() {
        return limits.watchers;
      },
      get watchersPerAddress() {
        return limits.watchersPerAddress;
      },
      get frames() {
        return limits.webSocketFrames;
      },
      proxies,
      tallies,
      onError,
      reports,
    });
    const poll = new Poll(feed, directory, {
      proxies,
      onError,
      history: {
        read: (channel, page) => measured('history', () => history.history(channel, page), channel),
        versionOf,
        get entries() {
          return limits.historyEntries;
        },
        get pageBytes() {
          return limits.historyPageBytes;
        },
        cacheBytes: limits.historyCacheBytes,
        get waiting() {
          return limits.historyWaiting;
        },
        get waitingPerAddress() {
          return limits.historyWaitingPerAddress;
        },
        get bytesInFlight() {
          return limits.historyBytesInFlight;
        },
        get bytesInFlightPerAddress() {
          return limits.historyBytesInFlightPerAddress;
        },
        tallies,
      },
    });
    const nes = new Nes(this.watch.watchers, clock, {
      get pingMs() {
        return config.watch.pingSeconds * 1000;
      },
      get subscriptions() {
        return limits.nesSubscriptions;
      },
      get frames() {
        return limits.webSocketFrames;
      },
      onError,
    });
    const covers = new CoverFiles({
      proxies,
      onError,
      folderOf: (channel) => {
        const station = feed.face(channel)?.station;
        return station === undefined ? undefined : config.stations[station]?.channels[channel]?.covers?.folder;
      },
    });
    this.services = [this.watch.sse, covers, poll, poll.unwatched];
    this.upgrades = [nes, this.watch];
  }
}
