/**
 * Samples a server's processes: memory and open files from /proc (Linux), heap and handles from probe.mjs, loop delay and counts from
 * /metrics. Owned by bench/soak/run.ts.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Airsplice } from '../airsplice.js';
import { usage } from '../process.js';

const OWN_LOOK_MS = 10;

/** The sample of one process; NaN (null in JSON): unknown. */
export interface ProcessSample {
  readonly residentBytes: number;
  /** Resident memory without mapped files. */
  readonly anonymousBytes: number;
  /** The minimum of the last seconds. */
  readonly heapBytes: number;
  readonly externalBytes: number;
  readonly files: number;
  /** Number of open handles, timers and requests. */
  readonly handles: number;
  /** Over the last minute. */
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
}

/** The server's own counts of clients and objects, and of restarted processes. */
const COUNTS = {
  listeners: 'airsplice_listeners',
  sessions: 'airsplice_sessions',
  watchers: 'airsplice_watchers',
  connections: 'airsplice_connections',
  links: 'airsplice_workers',
  restarts: 'airsplice_process_restarts_total',
} as const;
export type Counts = Readonly<Record<keyof typeof COUNTS, number>>;

export interface Sample {
  /** Since the load began. */
  readonly seconds: number;
  /** Process's name → sample: supervisor, hub, worker 2 … */
  readonly processes: Readonly<Record<string, ProcessSample>>;
  readonly counts: Counts;
  /** CPU cores of all processes, since the last sample. */
  readonly cores: number;
  /** Loop delay of the load's process, which shows how busy the machine is. */
  readonly ownLoopP99Ms: number;
}

/** The report of a probe. */
interface Said {
  readonly role: string;
  readonly heapBytes: number;
  readonly externalBytes: number;
  readonly handles: Readonly<Record<string, number>>;
}

export class Sampler {
  /** Process → kinds of handles, in the last sample. */
  kinds: Record<string, Readonly<Record<string, number>>> = {};
  readonly #server: Airsplice;
  readonly #folder: string;
  readonly #loop = monitorEventLoopDelay({ resolution: OWN_LOOK_MS });
  #last: { readonly cpuSeconds: number; readonly atMs: number };
  #startMs = performance.now();

  /** @param folder of the probes' files */
  constructor(server: Airsplice, folder: string) {
    this.#server = server;
    this.#folder = folder;
    this.#last = { cpuSeconds: usage(...server.pids).cpuSeconds, atMs: performance.now() };
    this.#loop.enable();
  }

  /** Starts the count of `seconds`. */
  start(): void {
    this.#startMs = performance.now();
  }

  stop(): void {
    this.#loop.disable();
  }

  /** Rejects if the server does not answer. */
  async take(): Promise<Sample> {
    const { metricsUrl, pids } = this.#server;
    const answer = await fetch(metricsUrl, { headers: { connection: 'close' } });
    const metrics = await answer.text();
    if (answer.status !== 200) throw new Error(`/metrics: ${answer.status}`);
    const { cpuSeconds } = usage(...pids);
    const atMs = performance.now();
    const cores = ((cpuSeconds - this.#last.cpuSeconds) * 1000) / (atMs - this.#last.atMs);
    this.#last = { cpuSeconds, atMs };
    const ownLoopP99Ms = this.#loop.percentile(99) / 1e6 - OWN_LOOK_MS;
    this.#loop.reset();
    return {
      seconds: (atMs - this.#startMs) / 1000,
      processes: this.#processes(metrics),
      counts: Object.fromEntries(
        Object.entries(COUNTS).map(([name, metric]) => [name, summed(metrics, metric)]),
      ) as unknown as Counts,
      cores,
      ownLoopP99Ms: Math.max(0, ownLoopP99Ms),
    };
  }

  #processes(metrics: string): Record<string, ProcessSample> {
    const processes: Record<string, ProcessSample> = {};
    // Names have numbers, in the order of their starts.
    const workers = [...new Set([...metrics.matchAll(/process="(worker \d+)"/g)].map(([, name]) => name!))]
      .sort((a, b) => Number(a.slice(7)) - Number(b.slice(7)))
      .values();
    for (const pid of this.#pids()) {
      const said = JSON.parse(readFileSync(join(this.#folder, `${pid}.json`), 'utf8')) as Said;
      const name = said.role === 'worker' ? (workers.next().value ?? `worker of ${pid}`) : said.role;
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024;
      this.kinds[name] = said.handles;
      processes[name] = {
        residentBytes: kib('VmRSS'),
        anonymousBytes: kib('RssAnon'),
        heapBytes: said.heapBytes,
        externalBytes: said.externalBytes,
        files: readdirSync(`/proc/${pid}/fd`).length,
        handles: Object.values(said.handles).reduce((all, count) => all + count, 0),
        loopP99Ms: loopMs(metrics, name, '0.99'),
        loopMaxMs: loopMs(metrics, name, '1'),
      };
    }
    return processes;
  }

  /** Living processes with a report, the oldest first. */
  #pids(): number[] {
    const written = readdirSync(this.#folder).filter((file) => file.endsWith('.json'));
    const pids = written.map((file) => Number.parseInt(file, 10)).sort((a, b) => a - b);
    const alive = new Set(readdirSync('/proc'));
    return pids.filter((pid) => alive.has(String(pid)));
  }
}

function summed(metrics: string, name: string): number {
  const lines = metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'));
  return [...lines].reduce((all, [, value]) => all + Number(value), 0);
}

function loopMs(metrics: string, process: string, quantile: string): number {
  const lines = metrics.matchAll(/^airsplice_event_loop_delay_seconds\{([^}]*)\} (\S+)$/gm);
  for (const [, labels, seconds] of lines) {
    const named = /process="([^"]*)"/.exec(labels!)?.[1];
    if (labels!.includes(`quantile="${quantile}"`) && (named === undefined || named === process))
      return Number(seconds) * 1000;
  }
  return Number.NaN;
}
