/**
 * Creates the listener statistics: what a process counts of its own listeners, and what the hub keeps of all processes. A single process has both.
 */

import type { ListenerRequest } from '../../listener/listener-stats.js';
import type { ChannelFace } from '../../metadata/view.js';
import { isTitle } from '../../now-playing/effect.js';
import type { ChannelState } from '../../now-playing/state.js';
import { Collector } from '../../statistics/collector.js';
import { Countries } from '../../statistics/countries.js';
import type { MinuteFigures } from '../../statistics/figures.js';
import { Recorder } from '../../statistics/recorder.js';
import type { DaySalt } from '../../statistics/salts.js';
import type { Store } from '../../store/store.js';
import type { Core } from '../core.js';

export class ListenerCounting {
  readonly collector: Collector;
  readonly #core: Core;
  readonly #faces: ReadonlyMap<string, ChannelFace>;
  readonly #countries: Countries;
  readonly #onMinute: (figures: MinuteFigures) => void;

  /** @param onMinute a minute is over */
  constructor(core: Core, faces: ReadonlyMap<string, ChannelFace>, onMinute: (figures: MinuteFigures) => void) {
    const { config, clock, repeats } = core;
    this.#core = core;
    this.#faces = faces;
    this.#onMinute = onMinute;
    const onError = (err: Error) => repeats.warn('countries', { err }, err.message);
    this.#countries = new Countries(() => config.statistics.countryFile, onError);
    this.collector = new Collector(clock, this.#countries, () => config.statistics.rowsPerHour);
  }

  /** A connection begins to play. @returns called with how long it lasted, once it has ended; null: it is not counted */
  readonly observe = (channel: string, request: ListenerRequest): ((lastedMs: number) => void) | null => {
    const face = this.#faces.get(channel);
    if (!this.#core.config.statistics.enabled || face === undefined) return null;
    const counted = this.collector.join(channel, face.station, request);
    return (lastedMs) => this.collector.leave(counted, lastedMs);
  };

  /** The title on air there from now on. */
  setTitle(channel: string, { now }: ChannelState): void {
    const face = this.#faces.get(channel);
    if (face !== undefined) this.collector.onTitle(channel, face.station, now !== null && isTitle(now) ? now : null);
  }

  /** Before listeners are served. */
  async ready(): Promise<void> {
    await this.#countries.refresh();
  }

  /** Called each second. */
  tidy(): void {
    const figures = this.collector.takeEnded();
    if (figures === null) return;
    this.#onMinute(figures);
    void this.#countries.refresh();
  }

  /** The process ends: passes on the counts of the present minute. */
  last(): void {
    this.#onMinute(this.collector.take());
  }
}

/** @param onSalts by these unique listeners are counted from now on */
export function makeRecorder(
  { config, clock, repeats }: Core,
  store: Store,
  onSalts: (salts: readonly DaySalt[]) => void,
): Recorder {
  return new Recorder(
    clock,
    store,
    () => config.statistics,
    (err) => repeats.warn('statistics', { err }, 'some statistics were dropped, or could not be stored: retrying'),
    (scope) => {
      const [kind, key = ''] = scope.split(':');
      if (kind === 'station') return Object.hasOwn(config.stations, key);
      return Object.values(config.stations).some(({ channels }) => Object.hasOwn(channels, key));
    },
    onSalts,
  );
}
