/**
 * One address of the configuration: its front, with its roles, headers and certificate. If it serves encoders, there is a second front at the next
 * port, for SHOUTcast v1, whose encoders add one to the port (src/http/ingest/README.md, "SHOUTcast v1"); it serves everything that an encoder may
 * request. Owned by Addresses.
 */

import type { Server } from 'node:http';
import net from 'node:net';
import type { Clock } from '../../base/clock.js';
import { withGetters } from '../../base/getters.js';
import type { Log } from '../../base/log.js';
import { shoutcastPortOf } from '../../config/addresses/addresses-config.js';
import { certificateFiles } from '../../config/addresses/tls.js';
import type { AddressConfig, Config } from '../../config/schema.js';
import { legacyHeaders } from '../../http/legacy.js';
import { Roles } from '../../http/roles.js';
import { Front, type FrontOptions } from '../../net/front/front.js';
import { Certificate } from '../../net/tls/certificate.js';
import type { TlsHandshakes } from '../../net/tls/handshakes.js';
import type { TicketKeysInForce } from '../../net/tls/session-tickets.js';
import type { Network } from '../worker/network.js';

export interface AddressPorts {
  readonly port: number;
  /** The second port, for SHOUTcast v1; undefined: none. */
  readonly shoutcast: number | undefined;
}

export interface AddressParts {
  /** The configuration in force. */
  readonly config: Config;
  readonly network: Network;
  readonly clock: Clock;
  readonly log: Log;
  /** Of all addresses. */
  readonly handshakes: TlsHandshakes;
  /** Of this process. */
  readonly tickets: TicketKeysInForce;
}

/** Rejects if a port that only the next configuration has is not available. */
export async function tryPortsThatCome(
  before: Pick<Config, 'addresses'>,
  next: Pick<Config, 'addresses'>,
): Promise<void> {
  const known = new Set(fixedAddresses(before).map(({ host, port }) => `${host} ${port}`));
  for (const address of fixedAddresses(next)) if (!known.has(`${address.host} ${address.port}`)) await tryPort(address);
}

/** Without ports that the system chooses. */
function fixedAddresses({ addresses }: Pick<Config, 'addresses'>): { readonly host: string; readonly port: number }[] {
  return addresses.flatMap((address) => {
    const ports = [address.port, shoutcastPortOf(address, addresses) ?? 0];
    return ports.filter((port) => port !== 0).map((port) => ({ host: address.host, port }));
  });
}

function tryPort(address: { readonly host: string; readonly port: number }): Promise<void> {
  const server = net.createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(address, () => server.close(() => resolve()));
  });
}

export class Address {
  /** As the configuration has it; undefined: no second port. */
  readonly shoutcastPort: number | undefined;
  readonly #port: number;
  readonly #main: Front;
  readonly #shoutcast: Front | null;
  readonly #certificate: Certificate | undefined;
  readonly #router: AddressParts['network']['router'];
  readonly #servers: Server[] = [];

  /** @param all its configuration, in force or about to be. Throws if a certificate cannot be read */
  constructor(address: AddressConfig, all: Pick<Config, 'addresses' | 'legacy'>, parts: AddressParts) {
    const { clock, log } = parts;
    this.#router = parts.network.router;
    const headers = address.roles?.includes('legacy') ? legacyHeaders(all.legacy!) : undefined;
    const isProxied = address.proxyProtocol === true;
    const files = address.tls && certificateFiles(address.tls, parts.config.data.folder);
    const certFile = files?.certFile;
    this.#certificate =
      files &&
      new Certificate(files, clock, {
        onRenewed: (pair) => {
          for (const each of this.#fronts) each.renew(pair);
          log.info({ certFile }, 'certificate renewed');
        },
        onRefused: (reason) =>
          log.error({ certFile, reason }, 'the changed certificate cannot be used: keeping the old one'),
      });
    this.#port = address.port;
    this.shoutcastPort = shoutcastPortOf(address, all.addresses);
    this.#main = new Front(this.#options(address, new Roles(address.roles, headers, isProxied), parts));
    const port = this.shoutcastPort;
    if (port === undefined) this.#shoutcast = null;
    else {
      const roles = new Roles(['encoder'], headers, isProxied);
      this.#shoutcast = new Front(this.#options({ ...address, port }, roles, parts));
    }
  }

  get ports(): AddressPorts {
    return { port: this.#main.port, shoutcast: this.#shoutcast?.port };
  }

  /** The ports that it takes; 0: any free one. */
  get fixedPorts(): readonly number[] {
    return [this.#port, this.shoutcastPort ?? 0].filter((port) => port !== 0);
  }

  /** Rejects if the port is not available. */
  async listen(): Promise<void> {
    if (this.#main.isListening) return;
    await this.#main.listen().catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
      const way = `stop the program that uses the port (ss -ltnp 'sport = :${this.#port}' shows it), or configure another port`;
      throw new Error(`${error.message}: ${way}`, { cause: error });
    });
  }

  async listenForShoutcast(): Promise<void> {
    if (this.#shoutcast === null || this.#shoutcast.isListening) return;
    await this.#shoutcast.listen().catch((error: Error) => {
      throw new Error(
        `${error.message} (port ${this.shoutcastPort} is for SHOUTcast encoders: set another shoutcastPort, or false)`,
        { cause: error },
      );
    });
  }

  /** Whether it needs no port of its own for SHOUTcast behind this one. */
  sharesShoutcast(before: Address): boolean {
    return this.shoutcastPort !== undefined && this.shoutcastPort === before.shoutcastPort;
  }

  /** Takes over the ports of an address of the same host and port; new connections are its own from now on. */
  takeOver(before: Address): void {
    before.retire();
    this.#main.takeOver(before.#main);
    // A certificate for other domains is better than none, until the right one arrives.
    const pair = before.#certificate?.current;
    if (this.#certificate?.current === null && pair) for (const each of this.#fronts) each.renew(pair);
    if (this.sharesShoutcast(before)) this.#shoutcast!.takeOver(before.#shoutcast!);
    else void before.#shoutcast?.drain();
  }

  /** Takes no more connections at its second port. */
  drainShoutcast(): void {
    void this.#shoutcast?.drain();
  }

  /** Takes no more connections; those that were accepted go on. Resolves when the last one has ended. */
  async drain(): Promise<void> {
    await Promise.all(this.#fronts.map((front) => front.drain()));
  }

  /** Takes no more connections. Resolves when the last one has ended. */
  async close(): Promise<void> {
    this.#certificate?.stop();
    await Promise.all(this.#fronts.map((front) => front.close()));
  }

  /** It gets no more connections, and its certificate is no longer read; present connections go on. */
  retire(): void {
    this.#certificate?.stop();
    for (const server of this.#servers) this.#router.retire(server);
  }

  /** It does not come into force. */
  discard(): void {
    this.retire();
    for (const front of this.#fronts) if (front.isListening) void front.close();
  }

  get #fronts(): readonly Front[] {
    return this.#shoutcast === null ? [this.#main] : [this.#main, this.#shoutcast];
  }

  #options(address: AddressConfig, roles: Roles, parts: AddressParts): FrontOptions {
    const { config, network, clock, handshakes, tickets } = parts;
    const { encoders, shoutcast, titles } = network.ingest;
    const { listeners } = network.streams;
    const { polls } = network.readers;
    const { limits } = config;
    const http = network.router.server(roles);
    this.#servers.push(http);
    const isProxied = address.proxyProtocol === true;
    // The port for SHOUTcast encoders serves neither streams nor polls.
    const isMain = address.port === this.#port;
    return {
      watchdog: clock.watchdog,
      host: address.host,
      port: address.port,
      get headMs() {
        return limits.headSeconds * 1000;
      },
      connections: network.guards.connections,
      tls: this.#certificate && {
        pair: this.#certificate.first,
        sharePort: address.tls?.sharePort === true,
        clientHelloBytes: limits.clientHelloBytes,
        handshakes,
        tickets,
      },
      proxied: isProxied
        ? withGetters({ by: () => network.guards.proxies, headBytes: () => limits.headBytes })
        : undefined,
      http,
      onEncoder: roles.has('encoder') ? (socket, first) => encoders.take(socket, first) : undefined,
      onTitleUpdate: roles.has('encoder') ? titles.at(http, roles.headers) : undefined,
      onShoutcast: roles.has('encoder') ? (socket, first) => shoutcast.take(socket, first) : undefined,
      onListener:
        isMain && roles.has('stream') ? (socket, first) => listeners.take(socket, first, roles.headers) : undefined,
      onPoll: isMain && roles.has('poll') ? polls.at(http, roles.headers) : undefined,
    };
  }
}
