/**
 * Metrics of what is where the clients are: listeners, readers, requests, connections. Everything is counted in plain fields where it happens and
 * read here when metrics are scraped. Labels are channels and rows of fixed tables, never a listener or an address.
 */

import type { ServedChannel } from '../../channel/served.js';
import type { Audience } from '../../listener/cursor/audience.js';
import type { HlsCrowd } from '../../listener/hls/hls-crowd.js';
import type { ListenerStats } from '../../listener/listener-stats.js';
import type { HeardReports } from '../../listener/sessions/heard-reports.js';
import type { Sessions } from '../../listener/sessions/sessions.js';
import type { Connections } from '../../net/front/connections.js';
import type { Pushes } from '../../titles/pushes.js';
import type { Worker } from '../worker/worker.js';
import { observeHlsRequests } from './hls-metrics.js';
import type { MetricRegistry } from './registry.js';
import type { RequestCounts } from './request-counts.js';

export interface WorkerObserved {
  readonly channels: ReadonlyMap<string, ServedChannel>;
  readonly audience: Audience;
  readonly listenerStats: ListenerStats;
  readonly hlsCrowd: HlsCrowd;
  readonly sessions: Sessions;
  readonly reports: HeardReports;
  readonly pushes: Pushes;
  readonly requests: RequestCounts;
  readonly connections: Connections;
  /** Open WebSocket and SSE readers. */
  readonly watchers: { readonly count: number };
  /** Secrets that wait to be compared. */
  readonly secrets: { readonly waiting: number };
}

/** In the process that judges their secrets, and in the one that lets them in. */
export const ENCODER_CONNECTIONS = [
  'airsplice_encoder_connections_total',
  'Encoder connections by response status',
  'status',
] as const;

/** In each process that has some. */
export const CONNECTIONS = ['airsplice_connections', 'Open connections; listeners count as busy'] as const;

/** Upper bounds of lag, seconds. */
const LAGS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, Number.POSITIVE_INFINITY] as const;

/** Registers them. */
export function observeWorker(registry: MetricRegistry, worker: Worker): void {
  const { guards, requests, readers, streams } = worker.network;
  observeHlsRequests(registry, streams.hlsService);
  new WorkerMetrics(registry, {
    channels: worker.channels,
    audience: worker.audience,
    listenerStats: worker.listenerStats,
    hlsCrowd: worker.hlsCrowd,
    sessions: worker.sessions,
    reports: worker.reports,
    pushes: worker.pushes,
    requests,
    connections: guards.connections,
    watchers: readers.watch.watchers,
    secrets: guards.gate,
  });
}

class WorkerMetrics {
  readonly #registry: MetricRegistry;

  constructor(registry: MetricRegistry, observed: WorkerObserved) {
    this.#registry = registry;
    this.#requests(observed);
    this.#listeners(observed);
    this.#pushes(observed);
    this.#lag(observed);
    this.#connections(observed);
  }

  #requests({ requests }: WorkerObserved): void {
    this.#registry.counter(
      'airsplice_pushes_total',
      'Pushes by HTTP response status; channel is empty if unknown',
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
      'Time from the arrival of an accepted push until it is written to its readers on this node',
      requests.pushDurations,
    );
    this.#registry.counts(...ENCODER_CONNECTIONS, requests.encoders);
    this.#registry.counts(
      'airsplice_listener_hook_verdicts_total',
      'Verdicts of the listener hook; remembered ones needed no request',
      'verdict',
      requests.hookVerdicts,
    );
    this.#registry.counts(
      'airsplice_encoder_hook_verdicts_total',
      'Verdicts of the encoder hooks; remembered ones needed no request',
      'verdict',
      requests.encoderHookVerdicts,
    );
  }

  #listeners({ channels, audience, listenerStats, hlsCrowd, sessions, reports, watchers }: WorkerObserved): void {
    this.#registry.gauge('airsplice_listeners', 'Listeners playing or waiting for audio', ['channel'], (set) => {
      for (const [channel, { audio }] of channels) set({ channel }, audio.listeners);
    });
    // Of all processes, as each of them knows it.
    this.#registry.gauge(
      'airsplice_unique_listeners',
      'Distinct listeners playing',
      ['channel'],
      (set) => {
        for (const channel of channels.keys()) set({ channel }, listenerStats.counts(channel).listeners);
      },
      'max',
    );
    this.#registry.gauge(
      'airsplice_hls_listeners',
      'Estimated anonymous HLS listeners; those behind a cache are not counted',
      ['channel'],
      (set) => {
        for (const channel of channels.keys()) set({ channel }, hlsCrowd.count(channel));
      },
      'max',
    );
    this.#registry.counter('airsplice_listener_bytes_total', 'Bytes sent to listeners', ['channel'], (set) => {
      for (const [channel, bytes] of audience.bytesByChannel()) set({ channel }, bytes);
    });
    this.#registry.counter('airsplice_listener_endings_total', 'Ended listeners by reason', ['reason'], (set) => {
      for (const [reason, count] of Object.entries(audience.endings)) set({ reason }, count);
    });
    this.#registry.counter('airsplice_access_log_lost_total', 'Access log lines not written', [], (set) =>
      set({}, listenerStats.lostLines),
    );
    this.#registry.gauge('airsplice_watchers', 'Open WebSocket and SSE readers', [], (set) => set({}, watchers.count));
    this.#registry.counter('airsplice_heard_reports_total', 'Playback reports of players', ['verdict'], (set) => {
      for (const [verdict, count] of Object.entries(reports.counts)) set({ verdict }, count);
    });
    this.#registry.gauge('airsplice_sessions', 'Listeners playing with a metaid', [], (set) => set({}, sessions.count));
  }

  #pushes({ pushes }: WorkerObserved): void {
    this.#registry.counter(
      'airsplice_pushes_far_ahead_total',
      'Pushes whose time is too far ahead, and was ignored',
      ['channel'],
      (set) => {
        for (const [channel, { count }] of pushes.farAhead) set({ channel }, count);
      },
    );
    this.#registry.counter(
      'airsplice_pushes_ignoring_total',
      'Pushes with ignored fields: unknown or unreadable',
      ['channel'],
      (set) => {
        for (const [channel, { count }] of pushes.ignoring) set({ channel }, count);
      },
    );
  }

  /** Where the send queues cannot be seen, lag is only what lies on the tape. */
  #lag({ channels, audience }: WorkerObserved): void {
    const { backlog } = audience;
    this.#registry.gauge(
      'airsplice_typical_lag_seconds',
      'How far the median listener is behind the live edge; absent: no listeners',
      ['channel'],
      (set) => {
        for (const [channel, { audio }] of channels) {
          const lagMs = audience.typicalLagMs(audio);
          if (lagMs !== null) set({ channel }, lagMs / 1000);
        }
      },
      'max',
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
      "Bytes sent to listeners that are still in the kernel's send queues",
      ['channel'],
      (set) => {
        if (backlog.known) for (const [channel, bytes] of backlog.bytesByChannel()) set({ channel }, bytes);
      },
    );
    this.#registry.gauge(
      'airsplice_kernel_look_seconds',
      "Duration of the last reading of the kernel's send queues; the longest of several processes",
      [],
      (set) => {
        if (backlog.known) set({}, backlog.tookMs / 1000);
      },
      'max',
    );
  }

  #connections({ connections, secrets }: WorkerObserved): void {
    this.#registry.gauge(...CONNECTIONS, ['state'], (set) => {
      const { count, loose } = connections;
      set({ state: 'undecided' }, loose.undecided);
      set({ state: 'idle' }, loose.idle);
      set({ state: 'busy' }, count - loose.undecided - loose.idle);
    });
    this.#registry.counter(
      'airsplice_connections_refused_total',
      'Connections refused for lack of room',
      ['reason'],
      (set) => {
        for (const [reason, count] of Object.entries(connections.refusals)) set({ reason }, count);
      },
    );
    this.#registry.counter(
      'airsplice_connections_made_room_total',
      'Idle or undecided connections closed to make room',
      [],
      (set) => set({}, connections.madeRoom),
    );
    this.#registry.gauge('airsplice_secrets_waiting', 'Tokens and passwords waiting to be compared', [], (set) =>
      set({}, secrets.waiting),
    );
  }
}
