/** How titles change: the engine on the store, and what decides and delivers. */

import type { Channel } from '../channel/channel.js';
import type { Sequence } from '../feed/sequence.js';
import type { ChannelFace } from '../metadata/view.js';
import { Rate } from '../net/rate.js';
import type { Store } from '../store/store.js';
import { timed } from '../store/timed.js';
import type { Deliver, Engine } from '../titles/engine.js';
import { LocalEngine } from '../titles/local.js';
import type { Moments } from '../titles/moments.js';
import { TitleService, type TitleServiceParts } from '../titles/service.js';
import { stamped } from '../titles/stamped.js';
import type { Core } from './core.js';

export interface TitleParts {
  readonly engine: Engine;
  readonly moments: Moments;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly faces: ReadonlyMap<string, ChannelFace>;
  readonly onLate: TitleServiceParts['onLate'];
}

/** What is decided where the channels are. */
export function makeTitles({ config, clock, log, onError }: Core, parts: TitleParts): TitleService {
  const { limits, titles, order } = config;
  return new TitleService({
    ...parts,
    clock,
    log,
    onError,
    rules: titles,
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
export function makeEngine({ clock, repeats }: Core, store: Store, sequence: Sequence, onChange: Deliver): Engine {
  const onSlow = (channel: string, tookMs: number) =>
    repeats.warn('slow save', { channel, tookMs }, 'the disk of the data folder is slow: titles wait for it');
  const onUnsaved = (error: unknown) =>
    repeats.warn('unsaved', { err: error }, 'a title could not be saved: it was refused');
  return stamped(new LocalEngine(timed(store, onSlow), onChange, onUnsaved), sequence, () => clock.wallMs());
}
