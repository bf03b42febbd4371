/**
 * The URL under which a client reaches this server, as the base of mounts in playlists and statistics:
 *
 *   streams.publicUrl, if configured    else scheme (a trusted proxy's X-Forwarded-Proto, else by TLS) + the request's Host
 *
 * Host is untrusted input: it is ignored unless it is a host name or an address, with or without a port. So it cannot end a line, tag or text.
 */

import type { IncomingMessage } from 'node:http';
import { plainAddress, urlHost } from '../../base/ip.js';
import { addressOf } from '../../net/front/client-address.js';

/** Knows which proxies are trusted to report the scheme: Proxies of net/front/client-address.ts. */
interface ProxyTrust {
  isTrusted(address: string | undefined): boolean;
}

const HOST = /^(?:[a-z0-9_](?:[a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?$/i;

export class PublicUrl {
  readonly #configured: () => string;
  readonly #trust: ProxyTrust;
  /** The last configured URL, and its serialized form. */
  #written = { from: '', url: '' };

  /** @param configured returns streams.publicUrl at present; "": none */
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

  /** Whether the client uses https, to this server or to a trusted proxy. */
  isSecure(request: IncomingMessage): boolean {
    return this.#scheme(request) === 'https';
  }

  /** The request headers on which the URL depends, for `Vary`, so that no cache serves one client the Host of another. "": none. */
  get vary(): string {
    return this.#configured() === '' ? 'Host, X-Forwarded-Proto' : '';
  }

  /** The serialized URL, so without blanks, quotes or angle brackets. */
  #asWritten(configured: string): string {
    if (this.#written.from !== configured) {
      this.#written = { from: configured, url: new URL(configured).href.replace(/\/+$/, '') };
    }
    return this.#written.url;
  }

  #scheme(request: IncomingMessage): string {
    const { socket, headers } = request;
    if (this.#trust.isTrusted(addressOf(socket))) {
      // The last of several is that of the nearest proxy.
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

/** URL.canParse refuses texts that only look like an address, and ports that are too large. */
function isAuthority(host: string): boolean {
  return HOST.test(host) && URL.canParse(`http://${host}`);
}

/** The local address of the connection, for HTTP/1.0, where Host may be missing. */
function localAuthority({ socket }: IncomingMessage): string {
  const address = plainAddress(socket.localAddress) || 'localhost';
  return `${urlHost(address)}:${socket.localPort}`;
}
