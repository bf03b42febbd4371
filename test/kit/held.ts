/** What this process holds while nobody is connected: the same before and after. */

import { collect } from './heap.js';

/** Of sockets and timers: what upstreams that are about to close have at any moment. */
const SPARE = 8;
/** A channel that is not let go has a megabyte of tape. */
const MOST_MEGABYTES = 40;

export interface Held {
  readonly sockets: number;
  readonly servers: number;
  readonly timers: number;
  readonly megabytes: number;
}

/** Sockets and timers of this process, and the memory that it holds, while nobody is connected. */
export function heldNow(): Held {
  const resources = process.getActiveResourcesInfo();
  const count = (kind: string) => resources.filter((each) => each === kind).length;
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return {
    sockets: count('TCPSocketWrap'),
    servers: count('TCPServerWrap'),
    timers: count('Timeout'),
    megabytes: (heapUsed + arrayBuffers) / 1_000_000,
  };
}

/** Whether nothing of what came between is left. */
export function isAsBefore(before: Held, after: Held): boolean {
  const { sockets, servers, timers, megabytes } = after;
  const isFree = sockets <= before.sockets + SPARE && timers <= before.timers + SPARE && servers <= before.servers;
  return isFree && megabytes < before.megabytes + MOST_MEGABYTES;
}
