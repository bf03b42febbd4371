/**
 * The policies of the pages (Content-Security-Policy). Scripts, styles, audio and titles come from this host only. None allows images of this host,
 * since a cover whose URL leads here could be a request that acts (cover.ts); logos are fetched, and are `blob:`.
 */

/** Hosts that a policy can name: not IPv6 addresses (CSP 3, host-source), for which only 'self' is left. */
const HOST = /^[A-Za-z0-9.-]+(?::\d{1,5})?$/;

export interface PagePolicy {
  /** The Host of the request. */
  readonly host: string | undefined;
  /** Origins of covers, none of them ours. */
  readonly images: readonly string[];
  /** Origins that may frame it, besides our own pages. */
  readonly ancestors: readonly string[];
}

/**
 * `connect-src` also names the WebSockets of this host: some browsers do not count them as 'self'. `media-src` allows `blob:`, as which hls.js plays
 * its audio.
 */
export function pagePolicy({ host, images, ancestors }: PagePolicy): string {
  const sockets = host !== undefined && HOST.test(host) ? ` ws://${host} wss://${host}` : '';
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "media-src 'self' blob:",
    ['img-src data: blob:', ...images].join(' '),
    "frame-src 'self'",
    `connect-src 'self'${sockets}`,
    "base-uri 'none'",
    "form-action 'none'",
    frameAncestors(ancestors),
  ].join('; ');
}

export function frameAncestors(ancestors: readonly string[]): string {
  return ["frame-ancestors 'self'", ...ancestors].join(' ');
}

/** For `/docs`, whose script sets styles, and whose icons are data: URLs. */
export const DOCS_POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'self'",
};

export const DOCS_POLICY_TEXT = Object.entries(DOCS_POLICY)
  .map(([name, value]) => `${name} ${value}`)
  .join('; ');
