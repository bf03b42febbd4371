/** How many listeners one machine serves, and what limits it first. Pure. */

import type { Costs } from './costs.js';

export interface MachinePlan {
  readonly cores: number;
  /** The usable share of each resource; the rest is for joins, pushes and the system. */
  readonly useShare: number;
  readonly memoryBytes: number;
  readonly bitsPerSecond: number;
}

export const LIMITS = ['cores', 'memory', 'network'] as const;
export type Limit = (typeof LIMITS)[number];

/** Cores per listener at a bitrate: the kernel's part is proportional to bytes, the rest to writes, one every two seconds. */
export function listenerCores(costs: Costs, kbps: number): number {
  const { listenerCores: all, listenerKernelCores: kernel, measuredKbps } = costs;
  return all.value - kernel.value + (kernel.value * kbps) / measuredKbps.value;
}

export function listenerBytes({ listenerBytes: own, socketBytes }: Costs): number {
  return own.value + socketBytes.value;
}

/** Bits per second on the wire. */
export function listenerBits({ overhead }: Costs, kbps: number): number {
  return kbps * 1000 * overhead.value;
}

/** Maximum listeners by each resource. @param channels number of channels with listeners there */
export function capacity(
  costs: Costs,
  { cores, useShare, memoryBytes, bitsPerSecond }: MachinePlan,
  kbps: number,
  channels: number,
): Readonly<Record<Limit, number>> {
  const idleBytes = costs.processBytes.value * (cores + 1) + channels * costs.channelBytes.value;
  return {
    cores: Math.floor((cores * useShare) / listenerCores(costs, kbps)),
    memory: Math.max(0, Math.floor((memoryBytes * useShare - idleBytes) / listenerBytes(costs))),
    network: Math.floor((bitsPerSecond * useShare) / listenerBits(costs, kbps)),
  };
}

/** The resource that is used up first. */
export function firstLimit(carried: Readonly<Record<Limit, number>>): Limit {
  return LIMITS.reduce((least, each) => (carried[each] < carried[least] ? each : least));
}
