/** Titles that go out, put together where the channels are, and what metrics show of them. */

import { SendingTurns } from '../../cluster/sending-turns.js';
import { TitlesOut } from '../../webhooks/titles-out.js';
import type { Core } from '../core.js';
import type { Faces } from '../faces.js';
import type { MetricRegistry } from '../metrics/registry.js';
import { badRecords } from './bad-records.js';
import type { Hub } from './hub.js';
import { nameTaken } from './hub-cluster.js';

export interface HubWebhooks {
  readonly titles: TitlesOut;
  /** Null: this machine is alone. */
  readonly turns: SendingTurns | null;
}

export interface HubWebhookParts {
  readonly hub: Hub;
  readonly faces: Faces;
  /** How far the channel's median listener hears behind the live edge, milliseconds. */
  typicalLagMs(channel: string): number;
}

export function makeWebhooks(core: Core, parts: HubWebhookParts, registry: MetricRegistry): HubWebhooks {
  const { config, clock, log, onError } = core;
  const { hub, faces, typicalLagMs } = parts;
  const { cluster, engine, moments, channels } = hub;
  const turns =
    cluster === null
      ? null
      : new SendingTurns({
          node: config.cluster!.node,
          ask: (asked) => cluster.lease(asked),
          onNameTaken: nameTaken(core, config.cluster!),
          onBad: badRecords(core.repeats),
          onError,
          onTaken: (channel, version) => {
            titles.taken(channel, version);
            turns?.did(channel, titles.versionOf(channel));
          },
        });
  const titles: TitlesOut = new TitlesOut({
    config,
    clock,
    log,
    moments,
    turns,
    states: engine,
    faces: faces.byChannel,
    max: () => config.metadata.heldPushes,
    delayMs: (channel) => {
      const { channelDelay } = config.feed;
      return channelDelay === 'typical' ? typicalLagMs(channel) : channelDelay * 1000;
    },
    offsetMs: (channel, source) => channels.get(channel)!.served.titleOffsetMs(source),
  });
  observeWebhooks(registry, titles);
  return { titles, turns };
}

function observeWebhooks(registry: MetricRegistry, titles: TitlesOut): void {
  registry.counter(
    'airsplice_title_deliveries_total',
    'Deliveries of titles; webhook: its number in the channel, from 1; failed attempts are retried',
    ['channel', 'webhook', 'outcome'],
    (set) => {
      for (const { channel, webhook, counts } of titles.deliveries())
        for (const [outcome, count] of Object.entries(counts)) set({ channel, webhook, outcome }, count);
    },
  );
  registry.gauge('airsplice_titles_waiting', 'Titles not yet delivered', ['channel', 'webhook'], (set) => {
    for (const { channel, webhook, waiting } of titles.deliveries()) set({ channel, webhook }, waiting);
  });
}
