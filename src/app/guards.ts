/** What stands between a connection and everything that is served: who is at the other end, how many there may be, and secrets. */

import { isLoopback } from '../base/ip.js';
import { Connections } from '../net/connections.js';
import { Proxies } from '../net/peer.js';
import { SecretGate } from '../net/secret-gate.js';
import type { Core } from './core.js';

export interface Guards {
  readonly proxies: Proxies;
  readonly connections: Connections;
  /** One for all that take secrets. */
  readonly gate: SecretGate;
}

export function makeGuards({ config, clock, refusals, tallies }: Core): Guards {
  const { limits } = config;
  const { connections, connectionsPerAddress, reservedConnections } = limits;
  const proxies = new Proxies(config.proxies.trusted, config.proxies.head);
  return {
    proxies,
    connections: new Connections({
      connections,
      perAddress: connectionsPerAddress ?? Math.max(100, Math.floor(connections / 10)),
      reserved: reservedConnections ?? Math.min(100, Math.floor(connections / 10)),
      // From the proxies and from this machine itself come many that have nothing to do with each other.
      isShared: (address) => isLoopback(address) || proxies.isTrusted(address),
      tallies,
      onRefused: (reason, address) => refusals.warn({ address, reason, status: 503 }, 'connection refused'),
    }),
    gate: new SecretGate(
      clock,
      {
        perMinute: limits.wrongSecretsPerMinute,
        inAllPerMinute: limits.wrongSecretsInAllPerMinute,
        mostOfOrigin: limits.secretQueue,
        remembered: limits.addressesRemembered,
      },
      Math.random,
      tallies,
    ),
  };
}
