/**
 * The policies of the pages (Content-Security-Policy). Scripts, styles, audio and titles come from this host only. Images of this host are let in
 * by none: a cover whose URL leads here could be a request that acts (cover.ts); logos come by `fetch`, as `blob:`.
 */

/** Hosts that a policy can name. It cannot name an IPv6 address (CSP 3, host-source): 'self' alone has to do. */
const HOST = /^[A-Za-z0-9.-]+(?::\d{1,5})?$/;

export interface PagePolicy {
  /** As asked for. */
  readonly host: string | undefined;
  /** Origins of covers, none of them ours. */
  readonly images: readonly string[];
  /** Who may frame it, besides our own pages. */
  readonly ancestors: readonly string[];
}

/**
 * `connect-src` also names the WebSockets of this host: some browsers do not count them as 'self'. `media-src` allows what the page's own scripts
 * make: hls.js gives its audio so.
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

/** Of `/docs`. Its script sets styles, and its icons are data: URLs. */
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
