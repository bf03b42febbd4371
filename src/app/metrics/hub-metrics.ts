/**
 * Metrics of what is where the channels are: their audio, their sources, the titles of these. Counted in plain fields, read when they are scraped.
 */

import type { Clock } from '../../base/clock.js';
import type { Channel } from '../../channel/channel.js';
import type { LoadedConfig } from '../../config/load.js';
import type { ChannelState } from '../../now-playing/state.js';
import type { Health } from '../../source/health.js';
import type { Source } from '../../source/source.js';
import type { SaveTimes } from '../../store/timed.js';
import type { TitleService } from '../../titles/title-service.js';
import type { MetricRegistry } from './registry.js';

export interface HubObserved {
  readonly clock: Pick<Clock, 'now' | 'wallMs'>;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly titles: TitleService;
  readonly saves: SaveTimes;
  readonly config: Pick<LoadedConfig, 'limits'>;
  stateOf(channel: string): ChannelState;
  storeFault(): string | null;
}

const SOURCE = ['channel', 'kind', 'place'];

/** Registers them. */
export function observeHub(registry: MetricRegistry, observed: HubObserved): void {
  observeChannels(registry, observed);
  observeSources(registry, observed);
  observeTitles(registry, observed);
}

function observeChannels(registry: MetricRegistry, { channels, clock }: HubObserved): void {
  registry.gauge(
    'airsplice_channel_silent_seconds',
    'Time for which a channel that should have audio has had none; 0: it has audio, or none is expected',
    ['channel'],
    (set) => {
      const nowMs = clock.now();
      for (const [channel, { missingSinceMs }] of channels)
        set({ channel }, Math.max(0, nowMs - missingSinceMs) / 1000);
    },
  );
  registry.counter(
    'airsplice_format_changes_total',
    'Changes of the codec, sample rate or number of audio channels that listeners receive',
    ['channel'],
    (set) => {
      for (const [channel, { audio }] of channels) set({ channel }, audio.formatChanges);
    },
  );
  registry.gauge(
    'airsplice_bitrate_kbps',
    'Mean bitrate that listeners received in the last minute',
    ['channel'],
    (set) => {
      for (const [channel, { audio }] of channels) set({ channel }, audio.bitrateKbps);
    },
  );
  registry.counter('airsplice_audio_seconds_total', 'Seconds of audio added to the tape', ['channel'], (set) => {
    for (const [channel, { audio }] of channels) set({ channel }, audio.audioMs / 1000);
  });
  registry.gauge(
    'airsplice_delay_seconds',
    'Audio in the delay line of a channel with delaySeconds; less than that after a gap',
    ['channel'],
    (set) => {
      for (const [channel, { audio }] of channels) if (audio.delayMs > 0) set({ channel }, audio.delayedMs / 1000);
    },
  );
}

function observeSources(registry: MetricRegistry, { channels }: HubObserved): void {
  type Row = { readonly channel: string; readonly kind: string; readonly place: number };
  const each = (use: (row: Row, source: Source, health: Health, isOnAir: boolean) => void) => {
    for (const [
      channel,
      {
        switch: { sources, healths, onAir },
      },
    ] of channels) {
      for (const [place, source] of sources.entries()) {
        use({ channel, kind: source.kind, place }, source, healths[place]!, source === onAir);
      }
    }
  };
  registry.gauge('airsplice_source_up', '1 while the source is connected', SOURCE, (set) =>
    each((row, { state }) => set(row, state === 'up' ? 1 : 0)),
  );
  registry.gauge('airsplice_source_heard', '1 for the source on air', SOURCE, (set) =>
    each((row, _source, _health, isOnAir) => set(row, isOnAir ? 1 : 0)),
  );
  registry.gauge('airsplice_source_trouble', '1 while the source has this trouble', [...SOURCE, 'trouble'], (set) =>
    each((row, _source, { troubles }) => {
      for (const [trouble, is] of Object.entries(troubles)) set({ ...row, trouble }, is ? 1 : 0);
    }),
  );
  registry.counter('airsplice_source_events_total', 'Troubles, changes, takeovers', [...SOURCE, 'event'], (set) =>
    each((row, _source, { events }) => {
      for (const [event, count] of Object.entries(events)) set({ ...row, event }, count);
    }),
  );
  registry.gauge('airsplice_source_bitrate_kbps', 'Mean bitrate of its last 10 s of audio; 0: unknown', SOURCE, (set) =>
    each((row, _source, { measuredKbps }) => set(row, measuredKbps)),
  );
}

function observeTitles(registry: MetricRegistry, observed: HubObserved): void {
  const { titles, saves, config, channels, clock } = observed;
  registry.gauge(
    'airsplice_title_age_seconds',
    'Seconds since the current title began; absent: no title',
    ['channel'],
    (set) => {
      for (const channel of channels.keys()) {
        const { now } = observed.stateOf(channel);
        if (now !== null) set({ channel }, Math.max(0, clock.wallMs() - now.effectAtMs) / 1000);
      }
    },
  );
  registry.gauge('airsplice_store_fault', '1 while the store cannot be used', [], (set) =>
    set({}, observed.storeFault() === null ? 0 : 1),
  );
  registry.durations('airsplice_save_seconds', 'Time to save a title', saves.durations);
  registry.gauge('airsplice_limit', 'Configured limits.connections, listeners and watchers', ['limit'], (set) => {
    const { connections, listeners, watchers } = config.limits;
    for (const [limit, most] of Object.entries({ connections, listeners, watchers })) set({ limit }, most);
  });
  registry.counter(
    'airsplice_titles_held_total',
    'Titles of sources in excess of limits.pushesPerMinute',
    ['channel'],
    (set) => {
      for (const [channel, { count }] of titles.delayedTitles) set({ channel }, count);
    },
  );
}

/** Registers what is known of the processes themselves, where there are several. @param workers those that are linked */
export function observeProcesses(
  registry: MetricRegistry,
  {
    workers,
    restarts,
  }: { readonly workers: { readonly count: number }; readonly restarts: () => Readonly<Record<string, number>> },
): void {
  registry.gauge('airsplice_workers', 'Processes that serve clients, as far as the hub can reach them', [], (set) =>
    set({}, workers.count),
  );
  registry.counter(
    'airsplice_process_restarts_total',
    'Processes restarted after they had died',
    ['process'],
    (set) => {
      for (const [process, count] of Object.entries(restarts())) set({ process }, count);
    },
  );
}
