/**
 * The addresses at which the server listens: for each a front with its roles, its headers and its certificate, all handing on to the
 * same acceptors (network.ts). Where encoders are served there is a second front at the next port, for those that speak SHOUTcast v1 and
 * add one by themselves (src/http/ingest/README.md, "SHOUTcast v1"); it serves whatever an encoder may ask. Owned by app.ts.
 */

import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { AddressConfig, Config } from '../config/schema.js';
import { legacyHeaders } from '../http/legacy.js';
import { Roles } from '../http/roles.js';
import { Certificate } from '../net/certificate.js';
import { Front, type FrontOptions } from '../net/front.js';
import { TlsHandshakes } from '../net/handshakes.js';
import type { Network } from './network.js';

export interface AddressPorts {
  readonly port: number;
  /** Where SHOUTcast v1 is spoken too; undefined: nowhere else. */
  readonly shoutcast: number | undefined;
}

/**
 * The port beside an address's own at which encoders are served; undefined: none. It is the next one, unless the configuration says
 * another, or has an address there already.
 */
export function shoutcastPortOf(address: AddressConfig, all: readonly AddressConfig[]): number | undefined {
  if (!new Roles(address.roles).has('encoder') || address.shoutcastPort === false) return undefined;
  if (address.shoutcastPort !== undefined) return address.shoutcastPort;
  const next = address.port + 1;
  const isFixed = address.port !== 0 && next <= 65_535;
  return isFixed && !all.some(({ port }) => port === next) ? next : undefined;
}

export class Addresses {
  readonly #fronts: Front[] = [];
  readonly #certificates: Certificate[] = [];
  readonly #handshakes: TlsHandshakes;
  /** Each with the address that it belongs to. */
  readonly #shoutcast: { readonly front: Front; readonly of: number; readonly port: number }[] = [];

  /** Throws when a certificate cannot be read. */
  constructor(config: Config, network: Network, clock: Clock, log: Log) {
    this.#handshakes = new TlsHandshakes(config.limits.handshakes);
    for (const address of config.addresses) this.#add(address, config, network, clock, log);
  }

  /** Resolves with the ports of each address, in configured order; rejects when one cannot be had. */
  async listen(): Promise<AddressPorts[]> {
    const ports: { port: number; shoutcast: number | undefined }[] = [];
    for (const front of this.#fronts) ports.push({ port: await front.listen(), shoutcast: undefined });
    for (const { front, of, port } of this.#shoutcast) {
      ports[of]!.shoutcast = await front.listen().catch((error: Error) => {
        throw new Error(
          `${error.message} (port ${port} is for SHOUTcast encoders: give another shoutcastPort, or false)`,
          { cause: error },
        );
      });
    }
    return ports;
  }

  /** Takes no more connections; those that were accepted go on. Resolves when the last one has ended. */
  async drain(): Promise<void> {
    await Promise.all(this.#allFronts.map((front) => front.drain()));
  }

  /** Takes no more connections. Resolves when the last one has ended. */
  async close(): Promise<void> {
    for (const certificate of this.#certificates) certificate.stop();
    await Promise.all(this.#allFronts.map((front) => front.close()));
  }

  get #allFronts(): readonly Front[] {
    return [...this.#fronts, ...this.#shoutcast.map(({ front }) => front)];
  }

  #add(address: AddressConfig, config: Config, network: Network, clock: Clock, log: Log): void {
    const headers = address.roles?.includes('legacy') ? legacyHeaders(config.legacy!) : undefined;
    const isProxied = address.proxyProtocol === true;
    const roles = new Roles(address.roles, headers, isProxied);
    const { certFile } = address.tls ?? {};
    const fronts: Front[] = [];
    const certificate =
      address.tls &&
      new Certificate(address.tls, clock, {
        onRenewed: (pair) => {
          for (const each of fronts) each.renew(pair);
          log.info({ certFile }, 'certificate renewed');
        },
        onRefused: (reason) =>
          log.error({ certFile, reason }, 'the changed certificate cannot be used, the old one stays'),
      });
    if (certificate !== undefined) this.#certificates.push(certificate);
    const { encoders, shoutcast, titles } = network.ingest;
    const { listeners } = network.streams;
    const { polls } = network.readers;
    const http = network.router.server(roles);
    const options: FrontOptions = {
      watchdog: clock.watchdog,
      host: address.host,
      port: address.port,
      headMs: config.limits.headSeconds * 1000,
      connections: network.guards.connections,
      tls: certificate && {
        pair: certificate.first,
        sharePort: address.tls?.sharePort === true,
        clientHelloBytes: config.limits.clientHelloBytes,
        handshakes: this.#handshakes,
      },
      proxied: isProxied ? { by: network.guards.proxies, headBytes: config.limits.headBytes } : undefined,
      http,
      onEncoder: roles.has('encoder') ? (socket, first) => encoders.take(socket, first) : undefined,
      onTitleUpdate: roles.has('encoder') ? titles.at(http, roles.headers) : undefined,
      onShoutcast: roles.has('encoder') ? (socket, first) => shoutcast.take(socket, first) : undefined,
      onListener: roles.has('stream') ? (socket, first) => listeners.take(socket, first, roles.headers) : undefined,
      onPoll: roles.has('poll') ? polls.at(http, roles.headers) : undefined,
    };
    const main = new Front(options);
    fronts.push(main);
    const port = shoutcastPortOf(address, config.addresses);
    if (port !== undefined) {
      const roles = new Roles(['encoder'], headers, isProxied);
      const http = network.router.server(roles);
      const title = titles.at(http, roles.headers);
      const front = new Front({
        ...options,
        port,
        http,
        onTitleUpdate: title,
        onListener: undefined,
        onPoll: undefined,
      });
      this.#shoutcast.push({ front, of: this.#fronts.length, port });
      fronts.push(front);
    }
    this.#fronts.push(main);
  }
}
