/** The parts that process titles, wired as in a server, on any store. */

import type { Clock } from '../../src/base/clock.js';
import type { Log } from '../../src/base/log.js';
import type { Channel } from '../../src/channel/channel.js';
import type { LoadedConfig } from '../../src/config/load.js';
import type { Feed } from '../../src/feed/feed.js';
import { ListenerFeed } from '../../src/listener/sessions/listener-feed.js';
import { Sessions } from '../../src/listener/sessions/sessions.js';
import { type ChannelFace, RecordView } from '../../src/metadata/view.js';
import { Rate } from '../../src/net/limits/rate.js';
import type { Change } from '../../src/now-playing/state.js';
import type { Store } from '../../src/store/store.js';
import type { Engine } from '../../src/titles/engine.js';
import { LocalEngine } from '../../src/titles/local.js';
import { Moments } from '../../src/titles/moments.js';
import { PushDecider } from '../../src/titles/push-decider.js';
import { Pushes } from '../../src/titles/pushes.js';
import { TitleReaders } from '../../src/titles/title-readers.js';
import { TitleService } from '../../src/titles/title-service.js';

export interface TitlePartsOptions {
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly feed: Feed;
  readonly faces: ReadonlyMap<string, ChannelFace>;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly sourceTitles: { readonly perMinute: number; readonly burst: number };
  readonly readerDelayMs?: number;
  /** As in TitleServiceParts. */
  goesBySources?(channel: string): boolean;
  onUnsaved?(error: unknown): void;
  onError(error: unknown): void;
}

export class TitleParts {
  readonly engine: Engine;
  readonly moments: Moments;
  readonly titles: TitleService;
  readonly readers: TitleReaders;
  readonly pushes: Pushes;
  readonly sessions: Sessions;

  constructor(options: TitlePartsOptions) {
    const { config, clock, log, store, feed, faces, channels, sourceTitles, onError } = options;
    const listenerFeed = new ListenerFeed(feed);
    this.sessions = new Sessions(clock, listenerFeed, { keepMs: 1, max: 1 });
    this.moments = new Moments(clock);
    const onChange = (channel: string, change: Change) => {
      const view = change.record && new RecordView(change.record, faces.get(channel)!);
      this.titles.deliver(channel, change, view);
      this.readers.deliver(channel, change, view);
    };
    this.engine = new LocalEngine(store, onChange, options.onUnsaved ?? (() => undefined));
    const { engine, moments, sessions } = this;
    this.readers = new TitleReaders({
      feed,
      listeners: { feed: listenerFeed, sessions },
      moments,
      faces,
      clock,
      max: () => 64,
      delayMs: () => options.readerDelayMs ?? 0,
      offsetMs: (channel, source) => channels.get(channel)!.served.titleOffsetMs(source),
    });
    this.titles = new TitleService({
      engine,
      moments,
      faces,
      clock,
      log,
      channels,
      rules: config.titles,
      textBytes: 1024,
      goesBySources: (channel) => options.goesBySources?.(channel) ?? true,
      onError,
      sourceTitleRate: new Rate(clock, { ...sourceTitles, remembered: 2 }),
      onLate: (channel, late) => sessions.late(channel, late),
    });
    this.pushes = new Pushes({
      decisions: new PushDecider({
        engine,
        moments,
        log,
        rulesOf: (channel) => channels.get(channel)?.served.rules,
        heldPushes: () => 64,
        check: (channel) => this.titles.check(channel),
      }),
      states: engine,
      moments,
      faces,
      clock,
      log,
      channels: new Map([...channels].map(([key, { served }]) => [key, served])),
      isWaiting: (channel, version) => this.readers.isWaiting(channel, version),
    });
  }

  /** Restores the state, as a server does at its start. */
  async restore(): Promise<void> {
    this.readers.restore(this.engine);
    await this.titles.restore();
  }

  /** The work of each second. */
  tidy(): void {
    this.readers.tidy(this.engine);
    this.titles.tidy();
  }

  versionOf(channel: string): number {
    return this.engine.state(channel).version;
  }
}
