/**
 * What a crowd reports, and the small statistics in it. Plain data: it is printed, written as one JSON line and read by bench/run.ts.
 * Owned by bench/crowd.ts, which fills it.
 */

import type { Reader } from './reader.js';

/** What is noted of one listener. Times in ms; `needleAt` epoch ms. */
export interface Outcome {
  readonly reader: Reader;
  connectMs: number | undefined;
  /** From the start of connecting to the first audio byte. */
  firstByteMs: number | undefined;
  needleAt: number | undefined;
  /** Bytes received, head and blocks included. */
  bytes: number;
  bytesAtWindow: number;
  /** Why it ended before we ended it. */
  ending: string | undefined;
}

export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export interface Spread {
  readonly all: number;
  readonly min: number;
  readonly median: number;
  readonly max: number;
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
  /** CPU cores that the crowd itself used in the window. Near 1 it measures itself. */
  readonly ownCores: number;
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
  return total(report.refused) + total(report.dropped) + report.icyErrors + report.breaks === 0;
}

export function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, each) => sum + each, 0);
}

export function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Nearest rank; missing values are left out, zeros when there is none. */
export function percentiles(values: readonly (number | undefined)[]): Percentiles {
  const sorted = ascending(values);
  return {
    count: sorted.length,
    p50: at(sorted, 0.5),
    p90: at(sorted, 0.9),
    p99: at(sorted, 0.99),
    max: at(sorted, 1),
  };
}

export function spread(values: readonly number[]): Spread {
  const sorted = ascending(values);
  const all = sorted.reduce((sum, value) => sum + value, 0);
  return { all, min: at(sorted, 0), median: at(sorted, 0.5), max: at(sorted, 1) };
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

function ascending(values: readonly (number | undefined)[]): number[] {
  return values.filter((value) => value !== undefined).sort((a, b) => a - b);
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
