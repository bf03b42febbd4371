/**
 * Under which URL the client can reach this server: what playlists and statistics put before a mount.
 *
 *   streams.publicUrl, where there is one    else scheme (a trusted proxy's X-Forwarded-Proto, else TLS or not) + the request's Host
 *
 * Host is outside input: it is a host name or an address with a port, or it is ignored. Nothing in it can end a line, a tag or a
 * text.
 */

import type { IncomingMessage } from 'node:http';
import { plainAddress, urlHost } from '../../base/ip.js';
import { addressOf } from '../../net/front/peer.js';

/** Which proxies are believed about the scheme; net/front/peer.ts has the real one. */
interface ProxyTrust {
  isTrusted(address: string | undefined): boolean;
}

const HOST = /^(?:[a-z0-9_](?:[a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?$/i;

export class PublicUrl {
  readonly #configured: () => string;
  readonly #trust: ProxyTrust;
  /** Of the last one that was configured. */
  #written = { from: '', url: '' };

  /** @param configured as configured now; "": none */
  constructor(configured: () => string, trust: ProxyTrust) {
    this.#configured = configured;
    this.#trust = trust;
  }

  /** `https://radio.example:8443`, without a slash at the end. */
  of(request: IncomingMessage): string {
    const configured = this.#configured();
    if (configured !== '') return this.#asWritten(configured);
    const { host } = request.headers;
    const authority = host !== undefined && isAuthority(host) ? host : localAuthority(request);
    return `${this.#scheme(request)}://${authority}`;
  }

  /** The request headers on which the URL depends, for `Vary`: a cache must not give one client the host that another one named. "": none. */
  get vary(): string {
    return this.#configured() === '' ? 'Host, X-Forwarded-Proto' : '';
  }

  /** As a URL is written on the wire: no blanks, quotes or angle brackets are left in it. */
  #asWritten(configured: string): string {
    if (this.#written.from !== configured) {
      this.#written = { from: configured, url: new URL(configured).href.replace(/\/+$/, '') };
    }
    return this.#written.url;
  }

  #scheme(request: IncomingMessage): string {
    const { socket, headers } = request;
    if (this.#trust.isTrusted(addressOf(socket))) {
      // Of several the last: what the nearest proxy has said, or added.
      const scheme = String(headers['x-forwarded-proto'] ?? '')
        .split(',')
        .at(-1)!
        .trim()
        .toLowerCase();
      if (scheme === 'https' || scheme === 'http') return scheme;
    }
    return 'encrypted' in socket ? 'https' : 'http';
  }
}

/** What looks like an address may still be none, and a port be too large. */
function isAuthority(host: string): boolean {
  return HOST.test(host) && URL.canParse(`http://${host}`);
}

/** The address at which the request came in: for clients of HTTP/1.0, which name no host. */
function localAuthority({ socket }: IncomingMessage): string {
  const address = plainAddress(socket.localAddress) || 'localhost';
  return `${urlHost(address)}:${socket.localPort}`;
}
