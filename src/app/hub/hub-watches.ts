/**
 * Logs what an operator must know: channels without audio, an unusable store, a blocked event loop. Called once a second.
 */

import { type Clock, WRONG_CLOCK_MS } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { Channel } from '../../channel/channel.js';
import type { Store } from '../../store/store.js';
import type { Core } from '../core.js';

/** Logs when the store is no longer in its place, and when it is back. */
export function storeWatch(store: Store, log: Log): () => void {
  let last: string | null = null;
  return () => {
    const fault = store.fault();
    if (fault !== last && fault !== null) log.error({ fault }, 'the store cannot be used: titles are refused');
    if (fault === null && last !== null) log.info('the store can be used again');
    last = fault;
  };
}

/** Logs of which channels segments of HLS cannot be written, all of them in one line, once for each reason; and that they can again. */
export function hlsWatch(faultsOf: () => ReadonlyMap<string, string>, log: Log): () => void {
  let known: ReadonlyMap<string, string> = new Map();
  return () => {
    const faults = faultsOf();
    if (faults.size === 0 && known.size === 0) return;
    const isNew = [...faults].some(([key, reason]) => known.get(key) !== reason);
    const back = [...known.keys()].filter((key) => !faults.has(key));
    known = faults;
    if (back.length > 0) log.info(named(back), 'HLS: segments can be written again');
    if (!isNew) return;
    const reasons = [...new Set(faults.values())];
    const what =
      'HLS: segments cannot be written, or only by dropping the oldest of the rewind: serving them from memory';
    log.error({ ...named([...faults.keys()]), reasons }, what);
  };
}

/** Logs that the wall clock of this machine differs from the cluster's, again when the difference has changed, and once that it is right. */
export function clockWatch(clock: Pick<Clock, 'skewMs'>, log: Log): () => void {
  let saidMs = 0;
  return () => {
    const { skewMs } = clock;
    const isWrong = Math.abs(skewMs) >= WRONG_CLOCK_MS;
    if (isWrong ? Math.abs(skewMs - saidMs) < WRONG_CLOCK_MS : saidMs === 0) return;
    saidMs = isWrong ? skewMs : 0;
    if (!isWrong) log.info('the clock of this machine agrees with the clock of the cluster again');
    else
      log.warn(
        { aheadSeconds: skewMs / 1000 },
        'the clock of this machine differs from the clock of the cluster: check NTP',
      );
  };
}

/** Between two writes to a listener; one that is written to each four seconds holds as much more (listener/cursor/audience.ts). */
const WRITE_MS = 1000;

/**
 * Logs the longest turn of the event loop that was too long: as a warning where players may have run dry, which hold what they got when they joined.
 */
export function turnWatch({
  clock: { watchdog },
  log,
  config: { streams },
}: Pick<Core, 'clock' | 'log' | 'config'>): () => void {
  return () => {
    const turn = watchdog.take();
    if (turn === null) return;
    const isHeard = turn.tookMs >= streams.burstSeconds * 1000 - WRITE_MS;
    log[isHeard ? 'warn' : 'info'](
      { ...turn, tookMs: Math.round(turn.tookMs) },
      'the event loop was blocked for too long',
    );
  };
}

/** A channel without audio for as long is logged; sooner it is a source that comes back. */
const MISSING_MS = 10_000;
const AGAIN_MS = 60_000;
/** Of more channels than these a line has only the number. */
const MAX_NAMED = 20;

/** Logs which channels have no audio though they should, all of them in one line: at once and then each minute. And those that have it again. */
export function silenceWatch(
  channels: ReadonlyMap<string, Pick<Channel, 'missingSinceMs'>>,
  log: Log,
): (nowMs: number) => void {
  let known: ReadonlySet<string> = new Set();
  let loggedMs = Number.NEGATIVE_INFINITY;
  return (nowMs) => {
    const missing = new Set<string>();
    let longestMs = 0;
    for (const [key, { missingSinceMs }] of channels) {
      if (nowMs - missingSinceMs < MISSING_MS) continue;
      missing.add(key);
      longestMs = Math.max(longestMs, nowMs - missingSinceMs);
    }
    const back = [...known].filter((key) => !missing.has(key));
    const added = [...missing].some((key) => !known.has(key));
    known = missing;
    if (back.length > 0) log.info(named(back), 'channels have audio again');
    if (missing.size === 0 || (!added && nowMs - loggedMs < AGAIN_MS)) return;
    loggedMs = nowMs;
    log.warn({ ...named([...missing]), longestSeconds: Math.round(longestMs / 1000) }, 'channels have no audio');
  };
}

function named(keys: readonly string[]) {
  return { channels: keys.slice(0, MAX_NAMED), count: keys.length };
}
