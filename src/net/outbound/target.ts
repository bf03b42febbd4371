/**
 * A URL to request, with its credentials and whether it may be at a private address, both set by the configuration only. A redirect or
 * a playlist may lead to any public URL, but keeps both only within the same origin (scheme, host and port).
 *
 * Invariant: `url` holds no user and password, so that it can be logged.
 */

import { isIP } from 'node:net';
import { hostOf } from '../../base/ip.js';
import { decoded } from '../../base/request-target.js';

export class Target {
  readonly url: URL;
  /** The value of the Authorization header; undefined: none is sent. */
  readonly authorization: string | undefined;
  readonly mayBePrivate: boolean;
  readonly #allowPrivate: boolean;

  private constructor(url: URL, authorization: string | undefined, mayBePrivate: boolean, allowPrivate: boolean) {
    this.url = url;
    this.authorization = authorizationIn(url) ?? authorization;
    this.mayBePrivate = mayBePrivate;
    this.#allowPrivate = allowPrivate;
    url.username = '';
    url.password = '';
  }

  /**
   * A URL of the configuration. A user and password in it override `authorization`. An IP address or `localhost` is private on purpose; a name may
   * lead to any address. @param href http or https @param allowPrivate whether everything it leads to may be private
   */
  static named(href: string, authorization: string | undefined, allowPrivate: boolean): Target {
    const url = new URL(href);
    const isExplicit = isIP(hostOf(url)) !== 0 || url.hostname === 'localhost';
    return new Target(url, authorization, allowPrivate || isExplicit, allowPrivate);
  }

  /** The host without the brackets of an IPv6 address. */
  get host(): string {
    return hostOf(this.url);
  }

  /** The target of a redirect or playlist entry, relative to this URL; null: not an http or https URL. */
  to(href: string): Target | null {
    if (!URL.canParse(href, this.url.href)) return null;
    const url = new URL(href, this.url);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
    const isSameOrigin = url.origin === this.url.origin;
    const mayBePrivate = this.#allowPrivate || (isSameOrigin && this.mayBePrivate);
    return new Target(url, isSameOrigin ? this.authorization : undefined, mayBePrivate, this.#allowPrivate);
  }
}

/** Basic credentials (RFC 7617, in UTF-8). */
export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function authorizationIn({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  // May be malformed in a redirect or a playlist.
  return basic(decoded(username), decoded(password));
}
