/**
 * The client's address, also behind proxies. A proxy is believed only if its own address is in the configured list, and then for
 * one step: headers are read from the right, each entry as long as the one to its right is trusted.
 *
 *   X-Forwarded-For: 198.51.100.9, 192.0.2.1, 10.0.0.7     peer 10.0.0.2, trusted 10.0.0.0/8  ─►  192.0.2.1
 *                    made up?      the client  trusted
 *
 * Invariant: nothing that an untrusted peer sends changes its address.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { AddressList, originOf, plainAddress } from '../../base/ip.js';

/** Headers in which proxies name their client, in lower case; RFC 7239 for the second. */
export type ProxyHeaderName = 'x-forwarded-for' | 'forwarded';

/** The client of each connection whose proxy has named it in a PROXY header. */
const clients = new WeakMap<Socket, string>();

/** The client's address (as plainAddress writes it), named by the peer, a trusted proxy. */
export function setClient(socket: Socket, address: string): void {
  clients.set(socket, address);
}

/** The client's address, whatever headers its requests have; "": it has gone, and no proxy has named it. */
export function addressOf(socket: Socket): string {
  return clients.get(socket) ?? plainAddress(socket.remoteAddress);
}

export class Proxies {
  #trusted: AddressList;
  #headerName: ProxyHeaderName;

  /** @param trusted valid addresses and networks (192.0.2.0/24) @param headerName the header that these proxies write */
  constructor(trusted: readonly string[], headerName: ProxyHeaderName) {
    this.#trusted = new AddressList(trusted);
    this.#headerName = headerName;
  }

  change(trusted: readonly string[], headerName: ProxyHeaderName): void {
    this.#trusted = new AddressList(trusted);
    this.#headerName = headerName;
  }

  isTrusted(address: string | undefined): boolean {
    return this.#trusted.has(plainAddress(address));
  }

  /**
   * The client's address; "" when the peer has gone.
   * @param header gives the value of a header by its lower-case name, repeated ones with commas between
   */
  clientOf(socket: Socket, header: (name: ProxyHeaderName) => string | undefined): string {
    let client = addressOf(socket);
    if (!this.isTrusted(client)) return client;
    // Bounded by the head's limit: commas only cost less than a millisecond.
    const entries = header(this.#headerName)?.split(',') ?? [];
    while (entries.length > 0 && this.isTrusted(client)) {
      const next = addressIn(entries.pop()!, this.#headerName);
      // "unknown", a made-up name, rubbish: the last known proxy counts as the client.
      if (next === '') break;
      client = next;
    }
    return client;
  }

  ofRequest(request: IncomingMessage): string {
    return this.clientOf(request.socket, (name) => request.headers[name] as string | undefined);
  }

  /** The key of its limits: its address, or its network (base/ip.ts). */
  originOf(request: IncomingMessage): string {
    return originOf(this.ofRequest(request));
  }
}

/** The address in one entry, with or without a port; "": none. */
function addressIn(entry: string, headerName: ProxyHeaderName): string {
  const found = headerName === 'forwarded' ? (/(?:^|;)\s*for\s*=\s*"?([^";]*)"?/i.exec(entry)?.[1] ?? '') : entry;
  const text = found.trim();
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return plainAddress(bare);
}
