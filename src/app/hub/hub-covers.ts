/** Covers of titles, put together where the channels are, and what metrics show of them. */

import type { SendingTurns } from '../../cluster/sending-turns.js';
import { Covers } from '../../covers/covers.js';
import type { Core } from '../core.js';
import type { MetricRegistry } from '../metrics/registry.js';
import type { Hub } from './hub.js';

/** @param turns null: this machine is alone */
export function makeCovers(core: Core, hub: Hub, turns: SendingTurns | null, registry: MetricRegistry): Covers {
  const { config, clock, log, onError } = core;
  const { engine, moments } = hub;
  const covers = new Covers({
    config,
    clock,
    log,
    engine,
    moments,
    isTurn: (channel) => turns === null || turns.has(channel),
    onChannels: (channels) => turns?.set('covers', channels),
    onError,
  });
  registry.counter(
    'airsplice_covers_total',
    'Answers of the cover hook; dropped: too many requests were under way',
    ['channel', 'outcome'],
    (set) => {
      for (const [channel, counts] of covers.counts())
        for (const [outcome, count] of Object.entries(counts)) set({ channel, outcome }, count);
    },
  );
  return covers;
}
