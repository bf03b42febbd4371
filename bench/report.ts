/**
 * What a crowd reports. Plain data: it is printed, written as one JSON line and read by bench/measure.ts.
 * Owned by bench/crowd.ts, which fills it.
 */

import type { Reader } from './reader.js';
import { ascending, at, type Percentiles, type Spread } from './statistics.js';

/** What is noted of one listener. Times in ms; `needleAt` epoch ms. */
export interface Outcome {
  readonly reader: Reader;
  connectMs: number | undefined;
  /** From the moment at which it was due to come to the first audio byte. */
  firstByteMs: number | undefined;
  needleAt: number | undefined;
  /** Bytes received, head and blocks included. */
  bytes: number;
  bytesAtWindow: number;
  /** Why it ended before we ended it. */
  ending: string | undefined;
}

export interface CrowdReport {
  readonly url: string;
  /** Listeners asked for, and opened (fewer when interrupted). */
  readonly listeners: number;
  readonly opened: number;
  /** Listeners that were answered 200. */
  readonly connected: number;
  /** Reason → listeners that were never answered 200. */
  readonly refused: Readonly<Record<string, number>>;
  /** Reason → listeners that were answered 200 and then lost, or had no audio. */
  readonly dropped: Readonly<Record<string, number>>;
  readonly interrupted: boolean;
  readonly joinSeconds: number;
  readonly windowSeconds: number;
  readonly connectMs: Percentiles;
  readonly firstByteMs: Percentiles;
  /** Per connected listener, over the whole run and in the window. */
  readonly bytes: Spread;
  readonly windowBytes: Spread;
  /** Of the median listener in the window. */
  readonly kbitPerSecond: number;
  /** icy-metaint (or 'none') → listeners. */
  readonly metaints: Readonly<Record<string, number>>;
  readonly icyErrors: number;
  readonly breaks: number;
  readonly frames: number;
  /** Listeners whose audio began with a part of a frame. Allowed, but a browser then starts seconds late. */
  readonly partialFirstFrames: number;
  /** The first faults in words, at most five. */
  readonly faults: readonly string[];
  /** Title → blocks in which it came, over all listeners. */
  readonly titles: Readonly<Record<string, number>>;
  readonly needle?: NeedleReport;
  /** Feeds of metaids, where there are any. */
  readonly feeds?: FeedsReport;
  /** CPU cores that the crowd itself used in the window. Near 1 it measures itself. */
  readonly ownCores: number;
}

/** What the open feeds of metaids brought. */
export interface FeedsReport {
  readonly open: number;
  readonly messages: number;
  /** Messages of the feed that got the fewest. */
  readonly fewest: number;
  readonly bytes: number;
  /** Feeds that failed, or got a title that is older than the one before. */
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

/** Whether all listeners asked for were let in, stayed, and received what they should. */
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
