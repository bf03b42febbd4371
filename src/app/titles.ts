/** The title service, with its engine on the store. */

import type { Channel } from '../channel/channel.js';
import type { Feed } from '../feed/feed.js';
import type { Audience } from '../listener/audience.js';
import type { ListenerFeed } from '../listener/listener-feed.js';
import type { Sessions } from '../listener/sessions.js';
import { Rate } from '../net/rate.js';
import type { Store } from '../store/store.js';
import { timed } from '../store/timed.js';
import type { Deliver, Engine } from '../titles/engine.js';
import { LocalEngine } from '../titles/local.js';
import { TitleService } from '../titles/service.js';
import { stamped } from '../titles/stamped.js';
import type { Core } from './core.js';

export interface TitleParts {
  readonly feed: Feed;
  readonly listenerFeed: ListenerFeed;
  readonly sessions: Sessions;
  readonly audience: Audience;
  readonly channels: ReadonlyMap<string, Channel>;
}

export function makeTitles(core: Core, store: Store, parts: TitleParts): TitleService {
  const { config, clock, log, onError } = core;
  const { limits, metadata, titles, order } = config;
  const { feed, listenerFeed, sessions, audience, channels } = parts;
  const { channelDelay } = config.feed;
  const channelDelayMs = (channel: string) =>
    channelDelay === 'typical' ? (audience.typicalLagMs(channels.get(channel)!.audio) ?? 0) : channelDelay * 1000;
  return new TitleService({
    feed,
    listenerFeed,
    sessions,
    channels,
    engine: (onChange) => makeEngine(core, store, feed, onChange),
    clock,
    log,
    onError,
    readerDelayMs: channelDelayMs,
    rules: titles,
    heldPushes: metadata.heldPushes,
    textBytes: limits.textBytes,
    sourceTitleRate: new Rate(clock, {
      perMinute: limits.pushesPerMinute,
      burst: limits.pushBurst,
      // Each of its encoder and its upstreams.
      remembered: 2 * order.flatMap(({ channels }) => channels).length,
    }),
  });
}

/** Changes are committed to the store; one that takes long, or fails, is logged. */
function makeEngine({ clock, repeats }: Core, store: Store, feed: Feed, onChange: Deliver): Engine {
  const onSlow = (channel: string, tookMs: number) =>
    repeats.warn('slow save', { channel, tookMs }, 'the disk of the data folder is slow: titles wait for it');
  const onUnsaved = (error: unknown) =>
    repeats.warn('unsaved', { err: error }, 'a title could not be saved: it was refused');
  return stamped(new LocalEngine(timed(store, onSlow), onChange, onUnsaved), feed.sequence, () => clock.wallMs());
}
