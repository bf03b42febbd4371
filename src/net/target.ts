/**
 * One URL to be asked, and what goes with it: the credentials that it is sent, and whether it may lie at a private address.
 * Both are given to URLs of the configuration only. A redirect or a playlist may lead on to anywhere public, but takes them along
 * to the same origin (scheme, host and port) and nowhere else.
 *
 * Invariant: `url` holds no user and password, so that nothing that tells of it can tell those.
 */

import { isIP } from 'node:net';

export class Target {
  readonly url: URL;
  /** The value of the Authorization head; undefined: none is sent. */
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
   * A URL of the configuration. An operator who writes an IP address or `localhost` means it; a name may be anybody's.
   * @param href http or https, with or without a user and password; those count more than `authorization`
   * @param allowPrivate everything it leads to may be private
   */
  static named(href: string, authorization: string | undefined, allowPrivate: boolean): Target {
    const url = new URL(href);
    const isMeant = isIP(bareHost(url)) !== 0 || url.hostname === 'localhost';
    return new Target(url, authorization, allowPrivate || isMeant, allowPrivate);
  }

  /** The host without the brackets of an IPv6 address. */
  get host(): string {
    return bareHost(this.url);
  }

  /** Where a redirect or an entry of a playlist leads, relative to here; null: nowhere that we go. */
  to(href: string): Target | null {
    if (!URL.canParse(href, this.url.href)) return null;
    const url = new URL(href, this.url);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
    const isOurs = url.origin === this.url.origin;
    const mayBePrivate = this.#allowPrivate || (isOurs && this.mayBePrivate);
    return new Target(url, isOurs ? this.authorization : undefined, mayBePrivate, this.#allowPrivate);
  }
}

/** Basic credentials (RFC 7617, in UTF-8). */
export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function authorizationIn({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  return basic(plain(username), plain(password));
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stranger's; a configured one was checked
  }
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}
