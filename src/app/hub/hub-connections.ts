/**
 * Encoders' sockets that the hub has taken over from workers: connections of the server and of their addresses like any other. They are never closed
 * to make room. (Those over TLS stay with their worker, which counts them.)
 */

import type { Socket } from 'node:net';
import { originOf } from '../../base/ip.js';
import type { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import type { MetricRegistry } from '../metrics/registry.js';
import { CONNECTIONS } from '../metrics/worker-metrics.js';

export class HubConnections {
  readonly #byOrigin: Tally;
  #count = 0;

  constructor(tallies: Tallies) {
    this.#byOrigin = tallies.tally('connections');
    tallies.onLook(() => tallies.all.set('connections', this.#count));
  }

  /** It is counted until it has closed. */
  take(socket: Socket, address: string): void {
    const origin = originOf(address);
    this.#count++;
    this.#byOrigin.add(origin, 1);
    socket.once('close', () => {
      this.#count--;
      this.#byOrigin.add(origin, -1);
    });
  }

  observe(registry: MetricRegistry): void {
    registry.gauge(...CONNECTIONS, ['state'], (set) => set({ state: 'busy' }, this.#count));
  }
}
