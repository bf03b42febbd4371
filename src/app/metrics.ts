/**
 * All metric names, by subject. Everything is counted in plain fields where it happens and read here when metrics are scraped. Labels
 * are channels and rows of fixed tables, never a listener or an address.
 */

import type { SystemClock } from '../base/clock.js';
import type { Counts, Durations } from '../base/counts.js';
import { LoopDelay, QUANTILES } from '../base/loop-delay.js';
import type { Channel } from '../channel/channel.js';
import type { Audience } from '../listener/audience.js';
import type { HeardReports } from '../listener/heard-reports.js';
import type { ListenerStats } from '../listener/listener-stats.js';
import type { Sessions } from '../listener/sessions.js';
import type { Connections } from '../net/connections.js';
import type { Health } from '../source/health.js';
import type { Source } from '../source/source.js';
import type { TitleService } from '../titles/service.js';
import { MetricRegistry } from './registry.js';

/** What requests have come to, counted where they are answered (network.ts). */
export interface RequestCounts {
  /** By `status channel`; the channel is "" where it was not known. */
  readonly pushes: Counts;
  /** From the arrival of an accepted push until its readers were written to. */
  readonly pushDurations: Durations;
  /** Connections of encoders by status. */
  readonly encoders: Counts;
  /** What became of questions to the listener hook. */
  readonly hookVerdicts: Counts;
}

/** What metrics look at. */
export interface Observed {
  readonly clock: Pick<SystemClock, 'lateMicros' | 'watchdog'>;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly audience: Audience;
  readonly listenerStats: ListenerStats;
  readonly sessions: Sessions;
  readonly reports: HeardReports;
  readonly titles: TitleService;
  readonly requests: RequestCounts;
  readonly connections: Connections;
  /** Open WebSocket and SSE readers. */
  readonly watchers: { readonly count: number };
  /** Secrets that wait to be compared. */
  readonly secrets: { readonly waiting: number };
}

/** Upper bounds of lag, seconds. */
const LAGS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, Number.POSITIVE_INFINITY] as const;
const SOURCE = ['channel', 'kind', 'place'];

export class Metrics {
  readonly #registry = new MetricRegistry();
  readonly #loop: LoopDelay;

  constructor(observed: Observed) {
    this.#loop = new LoopDelay(observed.clock.lateMicros);
    this.#requests(observed);
    this.#listeners(observed);
    this.#channels(observed);
    this.#sources(observed);
    this.#titles(observed);
    this.#lag(observed);
    this.#connections(observed);
    this.#process(observed);
  }

  text(): Promise<string> {
    return this.#registry.text();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Called about once a second, so that the event-loop figures cover a minute. */
  turn(): void {
    this.#loop.turn();
  }

  #requests({ requests }: Observed): void {
    this.#registry.counter(
      'airsplice_pushes_total',
      'Pushes by the HTTP status of their answer; channel is empty where it was not known',
      ['channel', 'status'],
      (set) => {
        for (const [row, count] of requests.pushes.rows) {
          const [status = '', channel = ''] = row.split(' ');
          set({ channel, status }, count);
        }
      },
    );
    this.#registry.durations(
      'airsplice_push_to_socket_seconds',
      'From the arrival of an accepted push until its readers on this node were written to',
      requests.pushDurations,
    );
    this.#registry.counts(
      'airsplice_encoder_connections_total',
      'Connections of encoders by the status that they were answered',
      'status',
      requests.encoders,
    );
    this.#registry.counts(
      'airsplice_listener_hook_verdicts_total',
      'What became of questions to the listener hook; remembered ones were not asked',
      'verdict',
      requests.hookVerdicts,
    );
  }

  #listeners({ channels, audience, listenerStats, sessions, reports, watchers }: Observed): void {
    this.#registry.gauge('airsplice_listeners', 'Listeners playing or waiting for audio', ['channel'], (set) => {
      for (const [channel, { audio }] of channels) set({ channel }, audio.listeners);
    });
    this.#registry.gauge('airsplice_unique_listeners', 'Listeners playing, each once', ['channel'], (set) => {
      for (const channel of channels.keys()) set({ channel }, listenerStats.counts(channel).listeners);
    });
    this.#registry.counter('airsplice_listener_bytes_total', 'Bytes given to listeners', ['channel'], (set) => {
      for (const [channel, bytes] of audience.bytesByChannel()) set({ channel }, bytes);
    });
    this.#registry.counter('airsplice_listener_endings_total', 'Ended listeners by reason', ['reason'], (set) => {
      for (const [reason, count] of Object.entries(audience.endings)) set({ reason }, count);
    });
    this.#registry.counter('airsplice_access_log_lost_total', 'Lines not written', [], (set) =>
      set({}, listenerStats.lostLines),
    );
    this.#registry.gauge('airsplice_watchers', 'Open WebSocket and SSE readers', [], (set) => set({}, watchers.count));
    this.#registry.counter('airsplice_heard_reports_total', 'What players reported to hear', ['verdict'], (set) => {
      for (const [verdict, count] of Object.entries(reports.counts)) set({ verdict }, count);
    });
    this.#registry.gauge('airsplice_sessions', 'Listeners playing with a metaid', [], (set) => set({}, sessions.count));
  }

  #channels({ channels }: Observed): void {
    this.#registry.counter('airsplice_audio_seconds_total', 'Audio that went onto the tape', ['channel'], (set) => {
      for (const [channel, { audio }] of channels) set({ channel }, audio.audioMs / 1000);
    });
    this.#registry.gauge(
      'airsplice_delay_seconds',
      'Audio that waits in the delay line of a channel with delaySeconds; less than that after a gap',
      ['channel'],
      (set) => {
        for (const [channel, { audio }] of channels) if (audio.delayMs > 0) set({ channel }, audio.delayedMs / 1000);
      },
    );
  }

  #sources({ channels }: Observed): void {
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
    this.#registry.gauge('airsplice_source_up', '1 while the source is connected', SOURCE, (set) =>
      each((row, { state }) => set(row, state === 'up' ? 1 : 0)),
    );
    this.#registry.gauge('airsplice_source_heard', '1 for the source on air', SOURCE, (set) =>
      each((row, _source, _health, isOnAir) => set(row, isOnAir ? 1 : 0)),
    );
    this.#registry.gauge('airsplice_source_trouble', '1 while it lasts', [...SOURCE, 'trouble'], (set) =>
      each((row, _source, { troubles }) => {
        for (const [trouble, is] of Object.entries(troubles)) set({ ...row, trouble }, is ? 1 : 0);
      }),
    );
    this.#registry.counter(
      'airsplice_source_events_total',
      'Troubles, changes, takeovers',
      [...SOURCE, 'event'],
      (set) =>
        each((row, _source, { events }) => {
          for (const [event, count] of Object.entries(events)) set({ ...row, event }, count);
        }),
    );
    this.#registry.gauge(
      'airsplice_source_bitrate_kbps',
      'Mean of its last 10 s of audio; 0: not known',
      SOURCE,
      (set) => each((row, _source, { measuredKbps }) => set(row, measuredKbps)),
    );
  }

  #titles({ titles }: Observed): void {
    this.#registry.counter(
      'airsplice_pushes_far_ahead_total',
      'Pushes with a time too far ahead to wait',
      ['channel'],
      (set) => {
        for (const [channel, { count }] of titles.farAhead) set({ channel }, count);
      },
    );
    this.#registry.counter(
      'airsplice_pushes_ignoring_total',
      'Pushes with fields that were not taken: unknown, or not to be read',
      ['channel'],
      (set) => {
        for (const [channel, { count }] of titles.ignoring) set({ channel }, count);
      },
    );
    this.#registry.counter(
      'airsplice_titles_held_total',
      'Titles of sources that came past the limit',
      ['channel'],
      (set) => {
        for (const [channel, { count }] of titles.delayedTitles) set({ channel }, count);
      },
    );
  }

  /** Where the send queues cannot be seen, lag is only what lies on the tape. */
  #lag({ channels, audience }: Observed): void {
    const { backlog } = audience;
    this.#registry.gauge(
      'airsplice_typical_lag_seconds',
      'How much later than the live edge the median listener hears; absent: nobody plays',
      ['channel'],
      (set) => {
        for (const [channel, { audio }] of channels) {
          const lagMs = audience.typicalLagMs(audio);
          if (lagMs !== null) set({ channel }, lagMs / 1000);
        }
      },
    );
    this.#registry.gauge(
      'airsplice_listeners_by_lag',
      'Playing listeners whose lag is at most `le` seconds',
      ['le'],
      (set) => {
        const counts = backlog.lags(LAGS.map((seconds) => seconds * 1000));
        for (const [i, le] of LAGS.entries()) set({ le: le === Number.POSITIVE_INFINITY ? '+Inf' : le }, counts[i]!);
      },
    );
    this.#registry.gauge(
      'airsplice_kernel_bytes',
      "Given to listeners and still in the system's send queue",
      ['channel'],
      (set) => {
        if (backlog.known) for (const [channel, bytes] of backlog.bytesByChannel()) set({ channel }, bytes);
      },
    );
    this.#registry.gauge('airsplice_kernel_look_seconds', 'What the last look took', [], (set) => {
      if (backlog.known) set({}, backlog.tookMs / 1000);
    });
  }

  #connections({ connections, secrets }: Observed): void {
    this.#registry.gauge('airsplice_connections', 'Open connections; a listener is busy', ['state'], (set) => {
      const { count, loose } = connections;
      set({ state: 'undecided' }, loose.undecided);
      set({ state: 'idle' }, loose.idle);
      set({ state: 'busy' }, count - loose.undecided - loose.idle);
    });
    this.#registry.counter('airsplice_connections_refused_total', 'There was no room', ['reason'], (set) => {
      for (const [reason, count] of Object.entries(connections.refusals)) set({ reason }, count);
    });
    this.#registry.counter(
      'airsplice_connections_made_room_total',
      'Idle or undecided ones closed for others',
      [],
      (set) => set({}, connections.madeRoom),
    );
    this.#registry.gauge('airsplice_secrets_waiting', 'Tokens and passwords that wait to be compared', [], (set) =>
      set({}, secrets.waiting),
    );
  }

  #process({ clock: { watchdog } }: Observed): void {
    const delay = 'Delay of the event loop, last minute';
    this.#registry.gauge('airsplice_event_loop_delay_seconds', delay, ['quantile'], (set) => {
      const delays = this.#loop.read();
      for (const [i, quantile] of QUANTILES.entries()) set({ quantile }, delays[i]!);
    });
    const longest = 'Longest hold of the event loop since the start';
    this.#registry.gauge('airsplice_longest_turn_seconds', longest, ['part'], (set) => {
      for (const [part, ms] of Object.entries(watchdog.longestMs)) set({ part }, ms / 1000);
    });
    this.#registry.counter('airsplice_long_turns_total', 'Holds of log.longTurnMs and more', ['part'], (set) => {
      for (const [part, count] of Object.entries(watchdog.long)) set({ part }, count);
    });
    this.#registry.gauge('process_resident_memory_bytes', 'Resident memory', [], (set) =>
      set({}, process.memoryUsage.rss()),
    );
    this.#registry.counter('process_cpu_seconds_total', 'User and system time', [], (set) => {
      const { user, system } = process.cpuUsage();
      set({}, (user + system) / 1e6);
    });
  }
}
