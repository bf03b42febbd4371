/** How many listeners one machine serves, and what limits it first. Pure. */

import type { Costs } from './costs.js';

export interface MachinePlan {
  readonly cores: number;
  /** Of each, the part that may be used: the rest is for joins, pushes, the system. */
  readonly useShare: number;
  readonly memoryBytes: number;
  readonly bitsPerSecond: number;
}

export const LIMITS = ['cores', 'memory', 'network'] as const;
export type Limit = (typeof LIMITS)[number];

/** Of a listener at this bitrate: the kernel's part goes with the bytes, the rest with the writes, of which there is one each two seconds. */
export function listenerCores(costs: Costs, kbps: number): number {
  const { listenerCores: all, listenerKernelCores: kernel, measuredKbps } = costs;
  return all.value - kernel.value + (kernel.value * kbps) / measuredKbps.value;
}

export function listenerBytes({ listenerBytes: own, socketBytes }: Costs): number {
  return own.value + socketBytes.value;
}

/** Bits a second on the wire. */
export function listenerBits({ overhead }: Costs, kbps: number): number {
  return kbps * 1000 * overhead.value;
}

/** How many listeners each resource would carry. @param channels that are heard there */
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
