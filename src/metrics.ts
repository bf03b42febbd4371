/**
 * All metric names. Everything is counted in plain fields where it happens and read here at scrape; nothing on a hot path knows
 * of metrics. Labels are channels and rows of fixed tables, never a listener or an address.
 */

import type { RecordableHistogram } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface SourceFigures {
  readonly kind: string;
  readonly up: boolean;
  readonly heard: boolean;
}

export interface ChannelFigures {
  readonly channel: string;
  readonly listeners: number;
  readonly audioSeconds: number;
  readonly sources: readonly SourceFigures[];
}

/** Looked at when somebody scrapes. */
export interface Figures {
  channels(): readonly ChannelFigures[];
  bytesByChannel(): ReadonlyMap<string, number>;
  endings(): Readonly<Record<string, number>>;
  watchers(): number;
  sessions(): number;
  /** Pushes whose time was too far ahead. */
  farAhead(): ReadonlyMap<string, { readonly count: number }>;
}

const LOOP_WINDOW_MS = 60_000;
const QUANTILES = [0.5, 0.99, 0.999, 1] as const;

/** Event-loop delay over the last minute: the running minute once it is half over, else the one before. */
class LoopDelay {
  readonly #lateMicros: RecordableHistogram;
  #previous: readonly number[] | null = null;
  #sinceMs = performance.now();

  constructor(lateMicros: RecordableHistogram) {
    this.#lateMicros = lateMicros;
  }

  /** Seconds for each of QUANTILES. */
  read(): readonly number[] {
    const young = performance.now() - this.#sinceMs < LOOP_WINDOW_MS / 2;
    return this.#previous !== null && young ? this.#previous : this.#now();
  }

  turn(): void {
    if (performance.now() - this.#sinceMs < LOOP_WINDOW_MS) return;
    this.#previous = this.#now();
    this.#lateMicros.reset();
    this.#sinceMs = performance.now();
  }

  #now(): readonly number[] {
    const late = this.#lateMicros;
    return QUANTILES.map((q) => (q === 1 ? late.max : late.percentile(q * 100)) / 1e6);
  }
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #loop: LoopDelay;
  readonly pushes: Counter<'channel' | 'status'>;
  readonly pushSeconds: Histogram;
  readonly encoders: Counter<'status'>;

  /** @param lateMicros how late the clock's ticks came */
  constructor(figures: Figures, lateMicros: RecordableHistogram) {
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
    this.#gauges(figures);
    this.#process();
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
    this.#counter('airsplice_audio_seconds_total', 'Audio that went onto the tape', ['channel'], (counter) => {
      for (const row of figures.channels()) counter.inc({ channel: row.channel }, row.audioSeconds);
    });
    this.#sources('airsplice_source_up', '1 while the source is connected', figures, (source) => source.up);
    this.#sources('airsplice_source_heard', '1 for the source that is heard', figures, (source) => source.heard);
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
