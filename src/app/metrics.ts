/**
 * All metric names. Everything is counted in plain fields where it happens and read here at scrape; nothing on a hot path knows
 * of metrics. Labels are channels and rows of fixed tables, never a listener or an address.
 */

import type { RecordableHistogram } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { LoopDelay, QUANTILES } from '../base/loop-delay.js';
import type { Watchdog } from '../base/watchdog.js';

export interface SourceFigures {
  readonly kind: string;
  readonly up: boolean;
  readonly heard: boolean;
  readonly health: SourceHealth;
}

/** How a source does: rows of fixed tables (source/health.ts). */
export interface SourceHealth {
  readonly troubles: Readonly<Record<string, boolean>>;
  readonly events: Readonly<Record<string, number>>;
  /** kb/s; 0: not known. */
  readonly measuredKbps: number;
}

export interface ChannelFigures {
  readonly channel: string;
  /** Connections, of which those that belong together are one of the unique. */
  readonly listeners: number;
  readonly unique: number;
  readonly audioSeconds: number;
  readonly sources: readonly SourceFigures[];
}

/** The last look at the system's send queues (listener/backlog.ts). */
export interface BacklogFigures {
  /** False: nothing could be seen, and lag is only what lies on the tape. */
  readonly known: boolean;
  readonly tookMs: number;
  bytesByChannel(): ReadonlyMap<string, number>;
  /** Listeners whose lag is at most each of these. */
  lags(boundsMs: readonly number[]): readonly number[];
}

/** The table of connections (net/connections.ts). */
export interface ConnectionFigures {
  readonly count: number;
  readonly loose: { readonly undecided: number; readonly idle: number };
  readonly madeRoom: number;
  readonly refusals: Readonly<Record<string, number>>;
}

/** Looked at when somebody scrapes. */
export interface Figures {
  channels(): readonly ChannelFigures[];
  bytesByChannel(): ReadonlyMap<string, number>;
  endings(): Readonly<Record<string, number>>;
  watchers(): number;
  connections(): ConnectionFigures;
  /** Secrets without a verdict yet. */
  secretsWaiting(): number;
  sessions(): number;
  /** Pushes whose time was too far ahead. */
  farAhead(): ReadonlyMap<string, { readonly count: number }>;
  /** Titles of encoders and upstreams past limits.pushesPerMinute. */
  heldTitles(): ReadonlyMap<string, { readonly count: number }>;
  /** What is known of listeners' streams that have not left this machine. */
  readonly kernel: BacklogFigures;
  /** Lines of the access log that were not written. */
  lostLines(): number;
}

/** Buckets of lag, seconds. */
const LAGS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, Number.POSITIVE_INFINITY] as const;

export class Metrics {
  readonly #registry = new Registry();
  readonly #loop: LoopDelay;
  readonly pushes: Counter<'channel' | 'status'>;
  readonly pushSeconds: Histogram;
  readonly encoders: Counter<'status'>;
  readonly hook: Counter<'verdict'>;

  /** @param lateMicros how late the clock's ticks came */
  constructor(figures: Figures, lateMicros: RecordableHistogram, watchdog: Watchdog) {
    this.#loop = new LoopDelay(lateMicros);
    const registers = [this.#registry];
    this.pushes = new Counter({
      name: 'airsplice_pushes_total',
      help: 'Pushes by the HTTP status of their answer; channel is empty where it was not known',
      labelNames: ['channel', 'status'],
      registers,
    });
    this.pushSeconds = new Histogram({
      name: 'airsplice_push_to_socket_seconds',
      help: 'From the arrival of an accepted push until its readers on this node were written to',
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5],
      registers,
    });
    this.encoders = new Counter({
      name: 'airsplice_encoder_connections_total',
      help: 'Connections of encoders by the status that they were answered',
      labelNames: ['status'],
      registers,
    });
    this.hook = new Counter({
      name: 'airsplice_listener_hook_verdicts_total',
      help: 'What became of questions to the listener hook; remembered ones were not asked',
      labelNames: ['verdict'],
      registers,
    });
    this.#gauges(figures);
    this.#process();
    this.#turns(watchdog);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Called about once a second, so that the event-loop figures cover a minute. */
  turn(): void {
    this.#loop.turn();
  }

  #gauges(figures: Figures): void {
    this.#gauge('airsplice_listeners', 'Listeners playing or waiting for audio', ['channel'], (gauge) => {
      for (const row of figures.channels()) gauge.set({ channel: row.channel }, row.listeners);
    });
    this.#gauge('airsplice_unique_listeners', 'Listeners playing, each once', ['channel'], (gauge) => {
      for (const row of figures.channels()) gauge.set({ channel: row.channel }, row.unique);
    });
    this.#counter('airsplice_audio_seconds_total', 'Audio that went onto the tape', ['channel'], (counter) => {
      for (const row of figures.channels()) counter.inc({ channel: row.channel }, row.audioSeconds);
    });
    this.#sources('airsplice_source_up', '1 while the source is connected', figures, (source) => source.up);
    this.#sources('airsplice_source_heard', '1 for the source that is heard', figures, (source) => source.heard);
    this.#health(figures);
    this.#counter('airsplice_listener_bytes_total', 'Bytes given to listeners', ['channel'], (counter) => {
      for (const [channel, bytes] of figures.bytesByChannel()) counter.inc({ channel }, bytes);
    });
    this.#counter('airsplice_listener_endings_total', 'Ended listeners by reason', ['reason'], (counter) => {
      for (const [reason, count] of Object.entries(figures.endings())) counter.inc({ reason }, count);
    });
    this.#counter(
      'airsplice_pushes_far_ahead_total',
      'Pushes with a time too far ahead to wait',
      ['channel'],
      (counter) => {
        for (const [channel, { count }] of figures.farAhead()) counter.inc({ channel }, count);
      },
    );
    this.#counter(
      'airsplice_titles_held_total',
      'Titles of sources that came past the limit',
      ['channel'],
      (counter) => {
        for (const [channel, { count }] of figures.heldTitles()) counter.inc({ channel }, count);
      },
    );
    this.#lag(figures.kernel);
    this.#counter('airsplice_access_log_lost_total', 'Lines not written', [], (counter) =>
      counter.inc(figures.lostLines()),
    );
    this.#connections(figures);
    this.#gauge('airsplice_secrets_waiting', 'Tokens and passwords that wait to be compared', [], (gauge) =>
      gauge.set(figures.secretsWaiting()),
    );
    this.#gauge('airsplice_watchers', 'Open WebSocket readers', [], (gauge) => gauge.set(figures.watchers()));
    this.#gauge('airsplice_sessions', 'Listeners playing with a metaid', [], (gauge) => gauge.set(figures.sessions()));
  }

  #sources(name: string, help: string, figures: Figures, is: (source: SourceFigures) => boolean): void {
    this.#gauge(name, help, ['channel', 'kind', 'place'], (gauge) => {
      for (const { channel, sources } of figures.channels()) {
        for (const [place, source] of sources.entries()) {
          gauge.set({ channel, kind: source.kind, place }, is(source) ? 1 : 0);
        }
      }
    });
  }

  #connections(figures: Figures): void {
    this.#gauge('airsplice_connections', 'Open connections; a listener is busy', ['state'], (gauge) => {
      const { count, loose } = figures.connections();
      gauge.set({ state: 'undecided' }, loose.undecided);
      gauge.set({ state: 'idle' }, loose.idle);
      gauge.set({ state: 'busy' }, count - loose.undecided - loose.idle);
    });
    this.#counter('airsplice_connections_refused_total', 'There was no room', ['reason'], (counter) => {
      for (const [reason, count] of Object.entries(figures.connections().refusals)) counter.inc({ reason }, count);
    });
    this.#counter('airsplice_connections_made_room_total', 'Idle or undecided ones closed for others', [], (counter) =>
      counter.inc(figures.connections().madeRoom),
    );
  }

  #health(figures: Figures): void {
    const labels = ['channel', 'kind', 'place'];
    const each = (use: (labels: Record<string, string | number>, health: SourceHealth) => void) => {
      for (const { channel, sources } of figures.channels()) {
        for (const [place, { kind, health }] of sources.entries()) use({ channel, kind, place }, health);
      }
    };
    this.#gauge('airsplice_source_trouble', '1 while it lasts', [...labels, 'trouble'], (gauge) =>
      each((source, { troubles }) => {
        for (const [trouble, is] of Object.entries(troubles)) gauge.set({ ...source, trouble }, is ? 1 : 0);
      }),
    );
    this.#counter('airsplice_source_events_total', 'Troubles, changes, takeovers', [...labels, 'event'], (counter) =>
      each((source, { events }) => {
        for (const [event, count] of Object.entries(events)) counter.inc({ ...source, event }, count);
      }),
    );
    this.#gauge('airsplice_source_bitrate_kbps', 'Mean of its last 10 s of audio; 0: not known', labels, (gauge) =>
      each((source, { measuredKbps }) => gauge.set(source, measuredKbps)),
    );
  }

  #lag(kernel: BacklogFigures): void {
    this.#gauge('airsplice_listeners_by_lag', 'Playing listeners at most so many seconds late', ['le'], (gauge) => {
      const counts = kernel.lags(LAGS.map((seconds) => seconds * 1000));
      for (const [i, le] of LAGS.entries())
        gauge.set({ le: le === Number.POSITIVE_INFINITY ? '+Inf' : le }, counts[i]!);
    });
    const known = (use: (gauge: Gauge) => void) => (gauge: Gauge) => {
      gauge.reset();
      if (kernel.known) use(gauge);
    };
    const kernelBytes = known((gauge) => {
      for (const [channel, bytes] of kernel.bytesByChannel()) gauge.set({ channel }, bytes);
    });
    this.#gauge('airsplice_kernel_bytes', 'Given to listeners and still in the kernel', ['channel'], kernelBytes);
    this.#gauge(
      'airsplice_kernel_look_seconds',
      'What the last look took',
      [],
      known((gauge) => gauge.set(kernel.tookMs / 1000)),
    );
  }

  #process(): void {
    this.#gauge('airsplice_event_loop_delay_seconds', 'Delay of the event loop, last minute', ['quantile'], (gauge) => {
      const delays = this.#loop.read();
      for (const [i, quantile] of QUANTILES.entries()) gauge.set({ quantile }, delays[i]!);
    });
    this.#gauge('process_resident_memory_bytes', 'Resident memory', [], (gauge) =>
      gauge.set(process.memoryUsage.rss()),
    );
    this.#counter('process_cpu_seconds_total', 'User and system time', [], (counter) => {
      const { user, system } = process.cpuUsage();
      counter.inc((user + system) / 1e6);
    });
  }

  #turns({ longestMs, long }: Watchdog): void {
    this.#gauge(
      'airsplice_longest_turn_seconds',
      'Longest hold of the event loop since the start',
      ['part'],
      (gauge) => {
        for (const [part, ms] of Object.entries(longestMs)) gauge.set({ part }, ms / 1000);
      },
    );
    this.#counter('airsplice_long_turns_total', 'Holds of log.longTurnMs and more', ['part'], (counter) => {
      for (const [part, count] of Object.entries(long)) counter.inc({ part }, count);
    });
  }

  #gauge(name: string, help: string, labelNames: string[], read: (gauge: Gauge) => void): void {
    const gauge: Gauge = new Gauge({ name, help, labelNames, registers: [this.#registry], collect: () => read(gauge) });
  }

  /** A counter whose value lives elsewhere: set anew at each scrape. */
  #counter(name: string, help: string, labelNames: string[], read: (counter: Counter) => void): void {
    const counter: Counter = new Counter({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      collect: () => {
        counter.reset();
        read(counter);
      },
    });
  }
}
