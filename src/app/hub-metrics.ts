/** Metrics of what is where the channels are: their audio, their sources, the titles of these. Counted in plain fields, read when they are scraped. */

import type { Channel } from '../channel/channel.js';
import type { Health } from '../source/health.js';
import type { Source } from '../source/source.js';
import type { TitleService } from '../titles/service.js';
import type { MetricRegistry } from './registry.js';

export interface HubObserved {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly titles: TitleService;
}

const SOURCE = ['channel', 'kind', 'place'];

/** Registers them. */
export function observeHub(registry: MetricRegistry, observed: HubObserved): void {
  observeChannels(registry, observed);
  observeSources(registry, observed);
  observeTitles(registry, observed);
}

function observeChannels(registry: MetricRegistry, { channels }: HubObserved): void {
  registry.counter('airsplice_audio_seconds_total', 'Audio that went onto the tape', ['channel'], (set) => {
    for (const [channel, { audio }] of channels) set({ channel }, audio.audioMs / 1000);
  });
  registry.gauge(
    'airsplice_delay_seconds',
    'Audio that waits in the delay line of a channel with delaySeconds; less than that after a gap',
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
  registry.gauge('airsplice_source_trouble', '1 while it lasts', [...SOURCE, 'trouble'], (set) =>
    each((row, _source, { troubles }) => {
      for (const [trouble, is] of Object.entries(troubles)) set({ ...row, trouble }, is ? 1 : 0);
    }),
  );
  registry.counter('airsplice_source_events_total', 'Troubles, changes, takeovers', [...SOURCE, 'event'], (set) =>
    each((row, _source, { events }) => {
      for (const [event, count] of Object.entries(events)) set({ ...row, event }, count);
    }),
  );
  registry.gauge('airsplice_source_bitrate_kbps', 'Mean of its last 10 s of audio; 0: not known', SOURCE, (set) =>
    each((row, _source, { measuredKbps }) => set(row, measuredKbps)),
  );
}

function observeTitles(registry: MetricRegistry, { titles }: HubObserved): void {
  registry.counter('airsplice_titles_held_total', 'Titles of sources that came past the limit', ['channel'], (set) => {
    for (const [channel, { count }] of titles.delayedTitles) set({ channel }, count);
  });
}

/** Registers what is known of the processes themselves, where there are several. @param workers those that are linked */
export function observeProcesses(
  registry: MetricRegistry,
  {
    workers,
    restarts,
  }: { readonly workers: { readonly count: number }; readonly restarts: Readonly<Record<string, number>> },
): void {
  registry.gauge('airsplice_workers', 'Processes that serve clients, as far as the hub reaches them', [], (set) =>
    set({}, workers.count),
  );
  registry.counter(
    'airsplice_process_restarts_total',
    'Processes that had ended and were started again',
    ['process'],
    (set) => {
      for (const [process, count] of Object.entries(restarts)) set({ process }, count);
    },
  );
}
