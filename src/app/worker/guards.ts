/** The checks before a connection is served: the client's address, limits of connections, and secrets. */

import { withGetters } from '../../base/getters.js';
import { isLoopback } from '../../base/ip.js';
import { SteadyTime } from '../../base/steady-time.js';
import { Proxies } from '../../net/front/client-address.js';
import { CONNECTION_FAULTS, Connections } from '../../net/front/connections.js';
import { Blocks } from '../../net/limits/blocks.js';
import { SecretGate, type SecretLimits } from '../../net/limits/secret-gate.js';
import type { Core } from '../core.js';

export interface Guards {
  readonly proxies: Proxies;
  readonly connections: Connections;
  /** The networks that an operator has blocked. */
  readonly blocks: Blocks;
  /** Whether many unrelated clients share this address: the proxies, and this machine itself. */
  isShared(address: string): boolean;
  /** The gate for all secrets. */
  readonly gate: SecretGate;
}

export function makeGuards({ config, clock, refusals, tallies, process }: Core): Guards {
  const { limits } = config;
  const proxies = new Proxies(config.proxies.trusted, config.proxies.head);
  // Created with the first block, when the cluster time is known.
  let time: SteadyTime | null = null;
  const blocks = new Blocks(() => (time ??= new SteadyTime(clock)).ms());
  const isShared = (address: string) => isLoopback(address) || proxies.isTrusted(address);
  return {
    proxies,
    blocks,
    isShared,
    connections: new Connections({
      get connections() {
        return limits.connections;
      },
      get perAddress() {
        return limits.connectionsPerAddress ?? Math.max(100, Math.floor(limits.connections / 10));
      },
      get reserved() {
        return limits.reservedConnections ?? Math.min(100, Math.floor(limits.connections / 10));
      },
      isShared,
      isBlocked: (address) => blocks.has(address),
      tallies,
      process,
      onRefused: (reason, address, connection) =>
        refusals.warn({ address, reason, status: 503, connection }, 'connection refused'),
      onFault: (reason, address, connection) =>
        refusals.warn({ address, reason, status: CONNECTION_FAULTS[reason], connection }, 'connection closed'),
    }),
    gate: new SecretGate(
      clock,
      withGetters<SecretLimits>({
        perMinute: () => limits.wrongSecretsPerMinute,
        inAllPerMinute: () => limits.wrongSecretsInAllPerMinute,
        maxOfOrigin: () => limits.secretQueue,
        remembered: () => limits.addressesRemembered,
      }),
      Math.random,
      tallies,
    ),
  };
}
