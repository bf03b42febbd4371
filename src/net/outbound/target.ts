/**
 * A URL to be requested, with the credentials that are sent to it and whether it may lie at a private address. Only URLs of the
 * configuration are given either. A redirect or a playlist may lead on to anywhere public, but takes them along to the same origin
 * (scheme, host and port) and nowhere else.
 *
 * Invariant: `url` holds no user and password, so that no log line that holds it can hold those.
 */

import { isIP } from 'node:net';
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
   * A URL of the configuration. An IP address or `localhost` is private on purpose; a name may lead to any address.
   * @param href http or https, with or without a user and password, which come before `authorization`
   * @param allowPrivate everything it leads to may be private
   */
  static named(href: string, authorization: string | undefined, allowPrivate: boolean): Target {
    const url = new URL(href);
    const isExplicit = isIP(bareHost(url)) !== 0 || url.hostname === 'localhost';
    return new Target(url, authorization, allowPrivate || isExplicit, allowPrivate);
  }

  /** The host without the brackets of an IPv6 address. */
  get host(): string {
    return bareHost(this.url);
  }

  /** Where a redirect or an entry of a playlist leads, relative to this URL; null: it is no URL, or neither http nor https. */
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
  // Those of a redirect or a playlist may be malformed: configured ones were checked.
  return basic(decoded(username), decoded(password));
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}
