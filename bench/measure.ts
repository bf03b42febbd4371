/**
 * Measures one target in one round: a crowd in a separate process, and the resources of the target's processes. Memory is read before the crowd and
 * with it, CPU time over the window only, when all have joined and settled. Owned by the scenarios, which call it round by round.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Started, usage } from './process.js';
import { type CrowdReport, isFaultless, total } from './report.js';
import type { Figures } from './result.js';
import { path, type Target } from './target.js';

const IDLE_SECONDS = 1;
/** How much longer than the window the crowd stays, so that it is complete at the last reading. */
const MARGIN_SECONDS = 1;

export interface Measurement {
  /** CPU cores before the crowd; NaN: the target's processes are unknown. */
  readonly idleCores: number;
  /** CPU cores with the crowd. */
  readonly cores: number;
  /** The kernel's part of `cores`. */
  readonly systemCores: number;
  /** Resident memory before the crowd. */
  readonly idleBytes: number;
  /** Resident memory with the crowd. */
  readonly bytes: number;
  readonly crowd: CrowdReport;
}

export interface CrowdPlan {
  readonly listeners: number;
  readonly seconds: number;
  readonly warmSeconds: number;
  readonly channels?: number;
  readonly feedEvery?: number;
  /** Called when all have joined and settled. */
  readonly onWindow?: () => void;
}

/** Rejects if the crowd's process ends without a report. */
export async function measure(target: Target, plan: CrowdPlan): Promise<Measurement> {
  const idle = await coresOver(target.pids, IDLE_SECONDS);
  const flags = {
    url: target.url,
    rate: target.rate,
    listeners: plan.listeners,
    seconds: plan.seconds + MARGIN_SECONDS,
    warm: plan.warmSeconds,
    ...(plan.channels !== undefined && { channels: plan.channels }),
    ...(plan.feedEvery !== undefined && { 'feed-every': plan.feedEvery }),
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const crowd = new Started(process.execPath, ['--import', 'tsx', path('listeners.ts'), '--json', ...args]);
  let json = '';
  crowd.stdout.on('data', (text: Buffer) => {
    json += text;
  });
  await new Promise<void>((resolve, reject) => {
    crowd.stderr.on('data', (text: Buffer) => text.includes('window') && resolve());
    void crowd.ended.then(() => reject(crowd.failure('no window')));
  });
  plan.onWindow?.();
  const loaded = await coresOver(target.pids, plan.seconds);
  await crowd.ended;
  if (json === '') throw crowd.failure('no report');
  return {
    idleCores: idle.cores,
    cores: loaded.cores,
    systemCores: loaded.systemCores,
    idleBytes: idle.bytes,
    bytes: loaded.bytes,
    crowd: JSON.parse(json) as CrowdReport,
  };
}

/** Adds a crowd's checked bytes and faults to the figures. A peer's faults become notes. */
export function judge(figures: Figures, name: string, crowd: CrowdReport, isPeer = false): void {
  figures.checkedBytes += crowd.bytes.all + (crowd.feeds?.bytes ?? 0);
  if (isFaultless(crowd) && crowd.connected === crowd.listeners && crowd.windowBytes.min > 0) return;
  const { refused, dropped, icyErrors, breaks, connected, listeners, feeds } = crowd;
  const counts = { refused: total(refused), dropped: total(dropped), 'ICY errors': icyErrors, breaks };
  const wrong = Object.entries({ ...counts, 'feeds with faults': feeds?.faults ?? 0 }).filter(([, count]) => count > 0);
  const reasons = [...Object.keys({ ...refused, ...dropped }), ...crowd.faults].slice(0, 3);
  const said = `${name}: ${connected} of ${listeners} connected; ${wrong.map(([what, count]) => `${count} ${what}`).join(', ')} (${reasons.join('; ')})`;
  (isPeer ? figures.notes : figures.faults).push(said);
}

export async function coresOver(
  pids: readonly number[],
  seconds: number,
): Promise<{ cores: number; systemCores: number; bytes: number }> {
  const before = { ...usage(...pids), at: performance.now() };
  await sleep(seconds * 1000);
  const after = { ...usage(...pids), at: performance.now() };
  const tookSeconds = (after.at - before.at) / 1000;
  return {
    cores: (after.cpuSeconds - before.cpuSeconds) / tookSeconds,
    systemCores: (after.systemSeconds - before.systemSeconds) / tookSeconds,
    bytes: after.bytes,
  };
}

/** The quantiles of `airsplice_event_loop_delay_seconds` in milliseconds, by name ("0.99"); empty without that metric. */
export async function loopDelayMs(metricsUrl: string): Promise<Map<string, number>> {
  const answer = await fetch(metricsUrl).catch(() => undefined);
  const text = answer?.ok ? await answer.text() : '';
  const lines = text.matchAll(/^airsplice_event_loop_delay_seconds\{[^}]*quantile="([\d.]+)"[^}]*\} (\S+)/gm);
  return new Map([...lines].map(([, quantile, seconds]) => [quantile!, Number(seconds) * 1000]));
}
