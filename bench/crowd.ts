/**
 * A crowd of stream listeners on raw sockets in this process, each checked by a Reader from its first byte to its last. It only connects to
 * loopback addresses, arrives by an open-loop schedule, and ends by itself: ramp + at most JOIN_SECONDS + warm + window. All sockets share one
 * receive buffer, since a Reader is done with its bytes before the next read. Owned by its caller: bench/listeners.ts, a test.
 *
 *   ramp (rate per second) ─► all joined: 'full' ─► warm ─► 'window' (counts bytes and own CPU) ─► end
 */

import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { feedsReport, ListenerFeed } from './listener-feed.js';
import { pace } from './pace.js';
import { Reader } from './reader.js';
import { type CrowdReport, count, needleReport, type Outcome } from './report.js';
import { percentiles, spread } from './statistics.js';

const PER_LOCAL_ADDRESS = 20_000;
const JOIN_SECONDS = 30;
const TICK_MS = 10;
const RECEIVE_BYTES = 65_536;
/** Maximum number of distinct titles that are counted. */
const MAX_TITLES = 1_000;

export interface CrowdOptions {
  /** An http:// URL with a loopback address. */
  readonly url: string;
  readonly listeners: number;
  /** Listeners that arrive per second. */
  readonly rate: number;
  /** Seconds between the last arrival and the window. */
  readonly warmSeconds: number;
  /** Length of the window in seconds. */
  readonly seconds: number;
  /** Whether to ask for ICY metadata (default true). */
  readonly icy?: boolean;
  /** Whether to check that audio frames join (default true). */
  readonly frames?: boolean;
  /** Number of channels: `{n}` in the URL's path is the number of a listener modulo this. */
  readonly channels?: number;
  /** Each listener whose number is a multiple of this has a metaid, and reads its feed, by WebSocket and SSE in turn. */
  readonly feedEvery?: number;
  /** Text of a title whose arrival at each listener is recorded. */
  readonly needle?: string;
  /** Ends the run early; the report is then marked as interrupted. */
  readonly signal?: AbortSignal;
  readonly onPhase?: (phase: 'full' | 'window') => void;
}

/** Parses a URL. Throws a RangeError for anything but http:// on 127.0.0.0/8, ::1 or localhost (taken as 127.0.0.1). */
export function loopbackTarget(url: string): { host: string; port: number; path: string } {
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const host = hostname === 'localhost' ? '127.0.0.1' : hostname.replace(/^\[(.*)\]$/, '$1');
  if (protocol !== 'http:' || !(host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)))
    throw new RangeError(`${url}: only http:// and loopback addresses`);
  return { host, port: Number(port || 80), path: (pathname + search).replaceAll('%7Bn%7D', '{n}') };
}

/** A source address of this process only, since the ports of the last crowd are not free for a minute. */
function localAddress(index: number): string {
  const { pid } = process;
  return `127.${1 + ((pid >> 8) & 127)}.${pid & 255}.${1 + Math.floor(index / PER_LOCAL_ADDRESS)}`;
}

/**
 * Runs a crowd; resolves with its report, which has listeners' faults. Rejects only for a target that is not loopback.
 * Over 80 lines: its steps are closures over the counters of the crowd.
 */
export async function runCrowd(options: CrowdOptions): Promise<CrowdReport> {
  const target = loopbackTarget(options.url);
  const { listeners, signal } = options;
  const icy = options.icy ?? true;
  const heads =
    `HTTP/1.1\r\nHost: ${target.host}:${target.port}\r\nUser-Agent: airsplice-bench\r\n` +
    `${icy ? 'Icy-MetaData: 1\r\n' : ''}\r\n`;
  const feeds: ListenerFeed[] = [];
  const shared = Buffer.allocUnsafeSlow(RECEIVE_BYTES);
  const sockets: Socket[] = [];
  const outcomes: Outcome[] = [];
  const titles = new Map<string, number>();
  let settled = 0;
  let over = false;

  function request(index: number): string {
    const path = target.path.replace('{n}', String(index % (options.channels ?? 1)));
    if (options.feedEvery === undefined || index % options.feedEvery !== 0) return `GET ${path} ${heads}`;
    const metaid = randomUUID();
    feeds.push(new ListenerFeed(target, `listener/${metaid}`, feeds.length % 2 === 0 ? 'websocket' : 'sse'));
    return `GET ${path}?metaid=${metaid} ${heads}`;
  }

  function open(index: number, dueAt: number): void {
    const outcome: Outcome = {
      reader: new Reader({ icy, frames: options.frames ?? true, onTitle }),
      connectMs: undefined,
      firstByteMs: undefined,
      needleAt: undefined,
      bytes: 0,
      bytesAtWindow: 0,
      ending: undefined,
    };
    const { reader } = outcome;
    let isSettled = false;
    const socket = connect({
      host: target.host,
      port: target.port,
      ...(target.host !== '::1' && { localAddress: localAddress(index) }),
      onread: { buffer: shared, callback: onRead },
    });
    socket.once('connect', () => {
      outcome.connectMs = performance.now() - dueAt;
      socket.write(request(index));
    });
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
    socket.once('close', () => end('closed by the server'));
    outcomes.push(outcome);
    sockets.push(socket);

    function onTitle(title: string): void {
      if (titles.size < MAX_TITLES || titles.has(title)) count(titles, title);
      if (options.needle !== undefined && title.includes(options.needle))
        outcome.needleAt ??= performance.timeOrigin + performance.now();
    }
    function onRead(length: number): boolean {
      outcome.bytes += length;
      reader.push(shared, length);
      if (isSettled) return true;
      if (reader.refusal !== undefined) {
        end(reader.refusal);
        socket.destroy();
      } else if (reader.audioBytes > 0) {
        outcome.firstByteMs = performance.now() - dueAt;
        settle();
      }
      return true;
    }
    function settle(): void {
      if (!isSettled) settled++;
      isSettled = true;
    }
    function end(reason: string): void {
      if (over) return;
      outcome.ending ??= reason;
      settle();
    }
  }

  const interrupted = () => signal?.aborted === true;
  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, signal && { signal }).catch(() => {});
  }

  const started = performance.now();
  await pace(options.rate, listeners, open, signal);
  const deadline = performance.now() + JOIN_SECONDS * 1000;
  while (settled < sockets.length && performance.now() < deadline && !interrupted()) await pause(TICK_MS);
  const joinSeconds = (performance.now() - started) / 1000;
  options.onPhase?.('full');
  await pause(options.warmSeconds * 1000);

  for (const outcome of outcomes) outcome.bytesAtWindow = outcome.bytes;
  const windowAt = performance.now();
  const cpu = process.cpuUsage();
  options.onPhase?.('window');
  await pause(options.seconds * 1000);
  const used = process.cpuUsage(cpu);
  const windowSeconds = (performance.now() - windowAt) / 1000;
  over = true;
  // By a reset: thousands of ports in TIME_WAIT would slow the connections of the next run.
  for (const socket of sockets) socket.resetAndDestroy();
  for (const feed of feeds) feed.close();

  return report();

  function report(): CrowdReport {
    const refused = new Map<string, number>();
    const dropped = new Map<string, number>();
    const metaints = new Map<string, number>();
    const faults: string[] = [];
    const up = outcomes.filter(({ reader }) => reader.accepted);
    for (const [index, { reader, ending, firstByteMs }] of outcomes.entries()) {
      if (!reader.accepted) count(refused, ending ?? 'no answer');
      else if (ending !== undefined) count(dropped, ending);
      else if (firstByteMs === undefined) count(dropped, 'no audio');
      if (reader.accepted) count(metaints, String(reader.metaint ?? 'none'));
      if (reader.firstFault !== undefined && faults.length < 5) faults.push(`listener ${index}: ${reader.firstFault}`);
    }
    const windowBytes = spread(up.map(({ bytes, bytesAtWindow }) => bytes - bytesAtWindow));
    return {
      url: options.url,
      listeners,
      opened: outcomes.length,
      connected: up.length,
      refused: Object.fromEntries(refused),
      dropped: Object.fromEntries(dropped),
      interrupted: interrupted(),
      joinSeconds,
      windowSeconds,
      connectMs: percentiles(outcomes.map(({ connectMs }) => connectMs)),
      firstByteMs: percentiles(outcomes.map(({ firstByteMs }) => firstByteMs)),
      bytes: spread(up.map(({ bytes }) => bytes)),
      windowBytes,
      kbitPerSecond: windowSeconds > 0 ? (windowBytes.median * 8) / 1000 / windowSeconds : 0,
      metaints: Object.fromEntries(metaints),
      icyErrors: up.reduce((sum, { reader }) => sum + reader.icyErrors, 0),
      breaks: up.reduce((sum, { reader }) => sum + reader.breaks, 0),
      frames: up.reduce((sum, { reader }) => sum + reader.frames, 0),
      partialFirstFrames: up.filter(({ reader }) => (reader.leadBytes ?? 0) > 0).length,
      faults,
      titles: Object.fromEntries(titles),
      ...(options.needle !== undefined && { needle: needleReport(outcomes.map(({ needleAt }) => needleAt)) }),
      ...(feeds.length > 0 && { feeds: feedsReport(feeds) }),
      ownCores: windowSeconds > 0 ? (used.user + used.system) / 1e6 / windowSeconds : 0,
    };
  }
}
