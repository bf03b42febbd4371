/**
 * A crowd's report, as plain data: it is printed, written as one JSON line and read by bench/measure.ts.
 * Owned by bench/crowd.ts, which fills it.
 */

import type { Reader } from './reader.js';
import { ascending, at, type Percentiles, type Spread } from './statistics.js';

/** The result of one listener. Times in ms; `needleAt` in epoch ms. */
export interface Outcome {
  readonly reader: Reader;
  connectMs: number | undefined;
  /** From the time at which it was due to connect to the first audio byte. */
  firstByteMs: number | undefined;
  needleAt: number | undefined;
  /** Bytes received, including head and blocks. */
  bytes: number;
  bytesAtWindow: number;
  /** Why its connection ended early. */
  ending: string | undefined;
}

export interface CrowdReport {
  readonly url: string;
  /** Number of planned listeners. */
  readonly listeners: number;
  /** Connections opened; fewer if the run was interrupted. */
  readonly opened: number;
  /** Number of listeners answered with 200. */
  readonly connected: number;
  /** Reason → listeners without an answer of 200. */
  readonly refused: Readonly<Record<string, number>>;
  /** Reason → listeners that were lost after an answer of 200, or had no audio. */
  readonly dropped: Readonly<Record<string, number>>;
  readonly interrupted: boolean;
  readonly joinSeconds: number;
  readonly windowSeconds: number;
  readonly connectMs: Percentiles;
  readonly firstByteMs: Percentiles;
  /** Per connected listener, over the whole run. */
  readonly bytes: Spread;
  /** Per connected listener, in the window. */
  readonly windowBytes: Spread;
  /** Bitrate of the median listener in the window. */
  readonly kbitPerSecond: number;
  /** icy-metaint (or 'none') → listeners. */
  readonly metaints: Readonly<Record<string, number>>;
  readonly icyErrors: number;
  readonly breaks: number;
  readonly frames: number;
  /** Listeners whose audio began with a partial frame. Allowed, but browsers then start seconds late. */
  readonly partialFirstFrames: number;
  /** The first faults in words, at most five. */
  readonly faults: readonly string[];
  /** Title → number of its blocks, over all listeners. */
  readonly titles: Readonly<Record<string, number>>;
  readonly needle?: NeedleReport;
  /** Feeds of metaids, if any. */
  readonly feeds?: FeedsReport;
  /** CPU cores used by the crowd itself in the window. Near 1, it measures itself. */
  readonly ownCores: number;
}

/** The results of the open feeds of metaids. */
export interface FeedsReport {
  readonly open: number;
  readonly messages: number;
  /** Least number of messages of a feed. */
  readonly fewest: number;
  readonly bytes: number;
  /** Feeds that failed, or got a title older than the previous one. */
  readonly faults: number;
}

/** When listeners got the needle: the first in epoch ms, the others in ms after it. */
export interface NeedleReport {
  readonly saw: number;
  readonly firstEpochMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly lastMs: number;
}

/** Whether all planned listeners were admitted, stayed, and received correct data. */
export function isFaultless(report: CrowdReport): boolean {
  return (
    total(report.refused) + total(report.dropped) + report.icyErrors + report.breaks + (report.feeds?.faults ?? 0) === 0
  );
}

export function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, each) => sum + each, 0);
}

export function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export function needleReport(times: readonly (number | undefined)[]): NeedleReport {
  const sorted = ascending(times);
  const first = at(sorted, 0);
  return {
    saw: sorted.length,
    firstEpochMs: first,
    p50Ms: at(sorted, 0.5) - first,
    p99Ms: at(sorted, 0.99) - first,
    lastMs: at(sorted, 1) - first,
  };
}
