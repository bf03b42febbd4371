/**
 * One party in one round: a crowd in its own process, and what the party's process used meanwhile. Memory is read before the crowd and with
 * it, CPU over the window only, when all have joined and settled. Owned by bench/run.ts, which calls it round by round.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Started, usage } from './process.js';
import type { CrowdReport } from './report.js';
import { path, type Target } from './target.js';

const IDLE_SECONDS = 2;
/** How much longer than the window the crowd stays, so that it is whole until the last reading. */
const MARGIN_SECONDS = 1;

export interface Measurement {
  readonly party: string;
  /** CPU cores before the crowd came, and with it. */
  readonly idleCores: number;
  readonly cores: number;
  /** How much of `cores` the kernel used for it. */
  readonly systemCores: number;
  /** Resident memory before the crowd came, and with it. */
  readonly idleBytes: number;
  readonly bytes: number;
  /** The server's own figure, p99.9, where it has one. */
  readonly eventLoopDelaySeconds?: number;
  readonly crowd: CrowdReport;
}

/** `warmSeconds` pass between the last arrival and the window. Throws when the crowd's process ends without a report. */
export async function measure(
  party: Target,
  options: { listeners: number; seconds: number; warmSeconds: number },
): Promise<Measurement> {
  const idle = await coresOver(party.pid, IDLE_SECONDS);
  const { listeners, seconds, warmSeconds } = options;
  const flags = { url: party.url, rate: party.rate, listeners, seconds: seconds + MARGIN_SECONDS, warm: warmSeconds };
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
  const loaded = await coresOver(party.pid, seconds);
  const delay = party.metricsUrl === undefined ? undefined : await eventLoopDelay(party.metricsUrl);
  await crowd.ended;
  if (json === '') throw crowd.failure('no report');
  return {
    party: party.name,
    idleCores: idle.cores,
    cores: loaded.cores,
    systemCores: loaded.systemCores,
    idleBytes: idle.bytes,
    bytes: loaded.bytes,
    ...(delay !== undefined && { eventLoopDelaySeconds: delay }),
    crowd: JSON.parse(json) as CrowdReport,
  };
}

async function coresOver(pid: number, seconds: number): Promise<{ cores: number; systemCores: number; bytes: number }> {
  const before = { ...usage(pid), at: performance.now() };
  await sleep(seconds * 1000);
  const after = { ...usage(pid), at: performance.now() };
  const tookSeconds = (after.at - before.at) / 1000;
  return {
    cores: (after.cpuSeconds - before.cpuSeconds) / tookSeconds,
    systemCores: (after.systemSeconds - before.systemSeconds) / tookSeconds,
    bytes: after.bytes,
  };
}

async function eventLoopDelay(metricsUrl: string): Promise<number | undefined> {
  const answer = await fetch(metricsUrl).catch(() => undefined);
  const text = answer?.ok ? await answer.text() : '';
  const value = /^airsplice_event_loop_delay_seconds\{[^}]*quantile="0\.999"[^}]*\} (\S+)/m.exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}
