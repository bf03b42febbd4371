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

/** Sets the client's address (as plainAddress writes it), which the peer, a trusted proxy, has named. */
export function setClient(socket: Socket, address: string): void {
  clients.set(socket, address);
}

/** The client's address, regardless of request headers; "": it has disconnected, and no proxy has named it. */
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
    let rest = header(this.#headerName);
    // Bounded by the head's limit: each character is looked at once.
    while (rest !== undefined && this.isTrusted(client)) {
      const at = this.#headerName === 'forwarded' ? lastOutside(rest, ',') : rest.lastIndexOf(',');
      const entry = rest.slice(at + 1);
      const next = addressIn(this.#headerName === 'forwarded' ? forIn(entry) : entry);
      // "unknown", a made-up name, rubbish: the last known proxy counts as the client.
      if (next === '') break;
      client = next;
      rest = at < 0 ? undefined : rest.slice(0, at);
    }
    return client;
  }

  ofRequest(request: IncomingMessage): string {
    return this.clientOf(request.socket, (name) => request.headers[name] as string | undefined);
  }

  /** The key of the client's limits: its address, or its network (base/ip.ts). */
  originOf(request: IncomingMessage): string {
    return originOf(this.ofRequest(request));
  }
}

/** The address of this text, with or without a port, which may be obfuscated (RFC 7239, 6.3); "": none. */
function addressIn(entry: string): string {
  const text = entry.trim();
  const bare = /^\[([^\]]*)\](?::(?:\d+|_[\w.-]+))?$/.exec(text)?.[1] ?? /^([\d.]+):(?:\d+|_[\w.-]+)$/.exec(text)?.[1];
  return plainAddress(bare ?? text);
}

/** The `for` value of an entry of `Forwarded`; "": none, or more than one. */
function forIn(entry: string): string {
  let found = '';
  for (let rest = entry, at = 0; at >= 0; rest = rest.slice(0, at)) {
    at = lastOutside(rest, ';');
    const pair = rest.slice(at + 1);
    const equals = pair.indexOf('=');
    if (pair.slice(0, Math.max(equals, 0)).trim().toLowerCase() !== 'for') continue;
    if (found !== '') return '';
    const value = pair.slice(equals + 1).trim();
    found = value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
  }
  return found;
}

/**
 * The index of the last separator outside quotes; -1: none. Searched from the right, since only the proxy's own entry is sure to have matching
 * quotes. Quoted text may come from the client (its Host).
 */
function lastOutside(text: string, separator: ',' | ';'): number {
  let isQuoted = false;
  for (let i = text.length - 1; i >= 0; i--) {
    if (text[i] === '"' && !isEscaped(text, i)) isQuoted = !isQuoted;
    else if (text[i] === separator && !isQuoted) return i;
  }
  return -1;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first--;
  return (at - first) % 2 === 1;
}
