/**
 * The addresses at which the server listens: for each a front with its roles, its heads and its certificate, all handing on to the
 * same doors (network.ts). Owned by app.ts.
 */

import type { Clock } from './clock.js';
import type { AddressConfig, Config } from './config/schema.js';
import { Certificate } from './http/certificate.js';
import { Front } from './http/front.js';
import { legacyHeads } from './http/legacy.js';
import { Roles } from './http/roles.js';
import type { Log } from './log.js';
import type { Network } from './network.js';

export class Addresses {
  readonly #fronts: Front[] = [];
  readonly #certificates: Certificate[] = [];

  /** Throws when a certificate cannot be read. */
  constructor(config: Config, network: Network, clock: Clock, log: Log) {
    for (const address of config.addresses) this.#add(address, config, network, clock, log);
  }

  /** Resolves with the port of each address, in configured order; rejects when one cannot be had. */
  async listen(): Promise<number[]> {
    const ports: number[] = [];
    for (const front of this.#fronts) ports.push(await front.listen());
    return ports;
  }

  /** Takes no more connections. Resolves when the last one has ended. */
  async close(): Promise<void> {
    for (const certificate of this.#certificates) certificate.stop();
    await Promise.all(this.#fronts.map((front) => front.close()));
  }

  #add(address: AddressConfig, config: Config, network: Network, clock: Clock, log: Log): void {
    const heads = address.roles?.includes('legacy') ? legacyHeads(config.legacy!) : undefined;
    const roles = new Roles(address.roles, heads);
    const { certFile } = address.tls ?? {};
    const certificate =
      address.tls &&
      new Certificate(address.tls, clock, {
        renewed: (pair) => {
          front.renew(pair);
          log.info({ certFile }, 'certificate renewed');
        },
        refused: (reason) =>
          log.error({ certFile, reason }, 'the changed certificate cannot be used, the old one stays'),
      });
    if (certificate !== undefined) this.#certificates.push(certificate);
    const { encoders, listeners, polls } = network;
    const http = network.router.server(roles);
    const front: Front = new Front({
      host: address.host,
      port: address.port,
      headMs: config.limits.headSeconds * 1000,
      connections: config.limits.connections,
      tls: certificate?.first,
      http,
      encoder: roles.has('encoder') ? (socket, first) => encoders.take(socket, first) : undefined,
      listener: roles.has('stream') ? (socket, first) => listeners.take(socket, first, roles.heads) : undefined,
      poll: roles.has('poll') ? polls.at(http, roles.heads) : undefined,
    });
    this.#fronts.push(front);
  }
}
