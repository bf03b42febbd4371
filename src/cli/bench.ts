/**
 * `airsplice bench`: a bounded load on one's own server. Listeners join at a bounded rate, check what they receive (whole frames, blocks at
 * their places), and report the time of a join, the throughput, and how long after the feed a title was in the stream.
 *
 * It loads this machine only, unless `--allow-remote` repeats the host, and then with at most REMOTE_LISTENERS.
 * Exit codes: 0 if all listeners succeeded, 1 if one failed, 2 for a wrong command line.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { Framer } from '../audio/frames/framer.js';
import { hostOf, isLoopback } from '../base/ip.js';
import { printable, printableJson } from '../base/printable.js';
import { messageOf } from '../net/outbound/message-of.js';
import type { PieceSink } from '../source/body.js';
import { IcyStripper } from '../source/strip.js';
import { type CommandLine, numberOf, type RunCommand, readKey, textOf, UsageError, wholeOf } from './command.js';
import { answerOf, ask, openEvents, serverUrl, stationsOf } from './server.js';

const LOCAL_LISTENERS = 10_000;
const REMOTE_LISTENERS = 1000;
const MAX_SECONDS = 300;
/** Bounded, so that other listeners can still join. */
const JOINS_PER_SECOND = 200;

export interface BenchReport {
  readonly listeners: number;
  readonly failed: number;
  /** Distinct reasons. */
  readonly faults: readonly string[];
  readonly joinMs: Percentiles | null;
  readonly megabits: number;
  readonly titleLagMs: Percentiles | null;
}

interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

export const bench: RunCommand = async (line, stop) => {
  const url = serverUrl(line);
  const max = allowedListeners(line, url);
  const listeners = wholeOf(line, 'listeners', 100, 1, max);
  const seconds = numberOf(line, 'seconds', 10, 1, MAX_SECONDS);
  const channel = textOf(line, 'channel') ?? (await firstOnAir(url, stop));
  const report = await load({ url, channel: readKey(channel), listeners, seconds }, stop);
  if (line.values['json']) process.stdout.write(`${printableJson(report)}\n`);
  else print(report, channel);
  return report.failed === 0 ? 0 : 1;
};

/** Throws UsageError if the host is not allowed. */
function allowedListeners(line: CommandLine, url: string): number {
  const host = hostOf(url);
  if (host === 'localhost' || isLoopback(host)) return LOCAL_LISTENERS;
  if (textOf(line, 'allow-remote') === host) return REMOTE_LISTENERS;
  throw new UsageError(`${host} is another machine: pass --allow-remote ${host} if you may load it`);
}

async function firstOnAir(url: string, stop: AbortSignal): Promise<string> {
  const answer = await answerOf(`${url}/metadata/stations.json`, stop);
  stationsOf(url, answer);
  const found = /"channelkey":"([\w-]+)"(?:(?!"channelkey").)*?"onair":true/.exec(answer.text)?.[1];
  if (found === undefined) throw new Error(`no channel of ${url} is on air`);
  return found;
}

interface Load {
  readonly url: string;
  readonly channel: string;
  readonly listeners: number;
  readonly seconds: number;
}

export async function load({ url, channel, listeners, seconds }: Load, stop: AbortSignal): Promise<BenchReport> {
  const done = new AbortController();
  const signal = AbortSignal.any([stop, done.signal]);
  const titles = new Map<string, number>();
  const crowd = Array.from({ length: listeners }, () => new BenchListener(titles));
  const feed = followTitles(`${url}/metadata/sse/channel/${channel}`, titles, signal);
  const playing = crowd.map(async (listener, i) => {
    await wait((i * 1000) / JOINS_PER_SECOND, undefined, { signal }).catch(() => undefined);
    await listener.play(`${url}/${channel}`, signal);
  });
  const startedMs = performance.now();
  const joiningMs = (listeners * 1000) / JOINS_PER_SECOND;
  await wait(joiningMs + seconds * 1000, undefined, { signal: stop }).catch(() => undefined);
  const tookSeconds = (performance.now() - startedMs) / 1000;
  done.abort();
  await Promise.all([...playing, feed]);
  const faults = crowd.flatMap(({ fault }) => fault ?? []);
  return {
    listeners,
    failed: faults.length,
    faults: [...new Set(faults)],
    joinMs: percentiles(crowd.flatMap(({ joinMs }) => joinMs ?? [])),
    megabits: (crowd.reduce((sum, { bytes }) => sum + bytes, 0) * 8) / 1e6 / tookSeconds,
    titleLagMs: percentiles(crowd.flatMap(({ titleLagsMs }) => titleLagsMs)),
  };
}

class BenchListener {
  joinMs: number | null = null;
  bytes = 0;
  fault: string | null = null;
  readonly titleLagsMs: number[] = [];
  /** When the feed announced each title (monotonic ms); shared by all listeners. */
  readonly #titles: ReadonlyMap<string, number>;
  readonly #framer = new Framer({ onFrame: () => undefined });

  constructor(titles: ReadonlyMap<string, number>) {
    this.#titles = titles;
  }

  /** Never rejects. */
  async play(url: string, signal: AbortSignal): Promise<void> {
    const beganMs = performance.now();
    try {
      const { statusCode, headers, body } = await ask(url, { signal, headers: { 'icy-metadata': '1' } });
      if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
      const isFramed = /mpeg|aac/.test(String(headers['content-type']));
      const stripper = new IcyStripper(headers['icy-metaint']);
      const sink: PieceSink = {
        onAudio: (audio) => isFramed && this.#framer.push(audio),
        onTitle: (title) => {
          // Titles with a cover are not text, and not compared.
          const saidMs = typeof title === 'string' ? this.#titles.get(title) : undefined;
          if (saidMs !== undefined) this.titleLagsMs.push(performance.now() - saidMs);
        },
      };
      for await (const chunk of body) {
        this.joinMs ??= performance.now() - beganMs;
        this.bytes += chunk.length;
        stripper.read(chunk, sink);
        const { skippedBytes } = this.#framer.counters;
        if (skippedBytes > 0) throw new Error('unexpected bytes between the frames');
      }
      throw new Error('the stream has ended');
    } catch (error) {
      if (!signal.aborted) this.fault = messageOf(error);
      else if (this.bytes === 0) this.fault = 'no audio received';
    }
  }
}

/** Records titles that change, but not the one in force at the start. Never rejects. */
async function followTitles(url: string, titles: Map<string, number>, signal: AbortSignal): Promise<void> {
  const beganMs = performance.now();
  try {
    for await (const event of await openEvents('its titles', url, signal)) {
      const { type, rawdata } = event as { readonly type?: unknown; readonly rawdata?: unknown };
      const isFirst = performance.now() - beganMs < 500;
      if (type === 'now' && typeof rawdata === 'string' && !isFirst) titles.set(rawdata, performance.now());
    }
  } catch {
    // Titles are then unknown; listeners report the fault.
  }
}

function percentiles(values: readonly number[]): Percentiles | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  return { p50: at(0.5), p99: at(0.99) };
}

function print({ listeners, failed, faults, joinMs, megabits, titleLagMs }: BenchReport, channel: string): void {
  const ms = (found: Percentiles | null) =>
    found === null ? '–' : `p50 ${found.p50.toFixed(0)} ms, p99 ${found.p99.toFixed(0)} ms`;
  process.stdout.write(`${listeners} listeners of ${channel}, ${failed} failed
  join        ${ms(joinMs)}
  throughput  ${megabits.toFixed(1)} Mb/s
  title lag   ${titleLagMs === null ? '– (no title changed meanwhile)' : ms(titleLagMs)}
${faults.map((fault) => `  failed: ${printable(fault)}\n`).join('')}`);
}
