/** Creates the parts that change titles: the engine on the store, and the title service. */

import { withGetters } from '../../base/getters.js';
import type { Channel } from '../../channel/channel.js';
import type { Sequence } from '../../feed/sequence.js';
import type { ChannelFace } from '../../metadata/view.js';
import { Rate, type RateLimits } from '../../net/limits/rate.js';
import type { Store } from '../../store/store.js';
import { type SaveTimes, timed } from '../../store/timed.js';
import type { Deliver, Engine } from '../../titles/engine.js';
import { LocalEngine } from '../../titles/local.js';
import type { Moments } from '../../titles/moments.js';
import { stamped } from '../../titles/stamped.js';
import { TitleService, type TitleServiceParts } from '../../titles/title-service.js';
import type { Core } from '../core.js';

export interface TitleParts {
  readonly engine: Engine;
  readonly moments: Moments;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly faces: ReadonlyMap<string, ChannelFace>;
  readonly onLate: TitleServiceParts['onLate'];
  goesBySources(channel: string): boolean;
  readonly hasOtherSources: boolean;
}

export interface EngineParts {
  readonly store: Store;
  readonly sequence: Sequence;
  /** Receives the duration of each save. */
  readonly saves: SaveTimes;
  /** Whether the channel exists. */
  has(channel: string): boolean;
}

/** The title service, in the process of the channels. */
export function makeTitles({ config, clock, log, onError }: Core, parts: TitleParts): TitleService {
  const { limits, titles } = config;
  return new TitleService({
    ...parts,
    clock,
    log,
    onError,
    rules: titles,
    get textBytes() {
      return limits.textBytes;
    },
    sourceTitleRate: new Rate(
      clock,
      withGetters<RateLimits>({
        perMinute: () => limits.pushesPerMinute,
        burst: () => limits.pushBurst,
        // One for the encoder and one for the upstreams of each channel.
        remembered: () => 2 * config.order.flatMap(({ channels }) => channels).length,
      }),
    ),
  });
}

/** A store that logs slow saves. */
export function watchedStore({ repeats }: Core, { store, saves }: Pick<EngineParts, 'store' | 'saves'>): Store {
  const onSlow = (channel: string, tookMs: number) =>
    repeats.warn('slow save', { channel, tookMs }, 'the disk of the data folder is slow: titles have to wait');
  return timed(store, onSlow, undefined, saves);
}

/** Changes are committed to the store; one that fails is logged. */
export function makeEngine(core: Core, parts: EngineParts, onChange: Deliver): Engine {
  const { clock, repeats } = core;
  const onUnsaved = (error: unknown) =>
    repeats.warn('unsaved', { err: error }, 'a title could not be saved and was refused');
  const engine = new LocalEngine(watchedStore(core, parts), onChange, onUnsaved, parts.has);
  return stamped(engine, parts.sequence, () => clock.wallMs());
}
