/**
 * `/web/cover?url=…`: the cover of a title in a frame of its own, for the pages (page-routes.ts). Anybody with a push token can set the URL, so the
 * frame may load images from that URL's origin only (Content-Security-Policy, which covers redirects too). From this server it may load only logos
 * and covers of a channel's folder (../poll/cover-files.ts): any other URL could be a request that acts here with an operator's password. The frame
 * is sandboxed: its origin is opaque, and it runs no scripts.
 */

import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { plainAddress } from '../../base/ip.js';
import { queryOf } from '../../base/request-target.js';
import { isImageUrl } from '../../metadata/image-url.js';
import { readRoute } from '../methods.js';
import { HTML_TYPE } from './page-files.js';
import { frameAncestors } from './page-policy.js';

/** Configured names and ports of this server; the Host of each request counts too. */
export interface OwnAddresses {
  readonly names: readonly string[];
  readonly ports: readonly number[];
}

const PATH = '/web/cover';
/** Hosts that a policy can name (CSP 3, host-source): no IPv6 address, no wildcard, no character that ends a directive. */
const HOST = /^[a-z0-9.-]+$/;
/** Logos and covers, also below a proxy's path. Nothing in it ends a directive. */
const OWN_PICTURE = /^[\w.~/-]*\/(?:metadata\/channel\/[\w.~-]+\/cover\/[\w.~%-]+|web\/logo(?:\/[\w.~-]+)?)$/;
const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|0\.0\.0\.0)$/;
/** They count as one port, since a server may listen on both. */
const DEFAULT_PORTS: readonly number[] = [80, 443];
/** Transparent on a dark page too. */
const HEAD =
  '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Cover</title>';

/** @param ancestors origins that may frame a player, which frames the cover */
export function registerCover(app: FastifyInstance, own: () => OwnAddresses, ancestors: () => readonly string[]): void {
  readRoute(app, PATH, (request, reply) => {
    const url = new URLSearchParams(queryOf(request.url)).get('url') ?? '';
    const images = ownPicture(url) ?? coverOrigin(url, request, own());
    const style = images === null ? '' : styleOf(url);
    reply.headers({
      'Cache-Control': 'no-store',
      'Content-Security-Policy': policy(images ?? "'none'", style, ancestors()),
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    });
    return reply.type(HTML_TYPE).send(`${HEAD}<style>${style}</style></head></html>`);
  });
}

/** A background image, so that a broken one is invisible. A serialized URL has no quotes, but may have a backslash. */
function styleOf(url: string): string {
  return `html{height:100%;background:url("${new URL(url).href.replaceAll('\\', '%5C')}") center/cover}`;
}

function policy(images: string, style: string, ancestors: readonly string[]): string {
  return [
    "default-src 'none'",
    `img-src ${images}`,
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    frameAncestors(ancestors),
    'sandbox',
  ].join('; ');
}

/** The URL of a logo or cover, as a source for the policy: on this server it never redirects. Null: another URL. */
function ownPicture(url: string): string | null {
  if (!isImageUrl(url)) return null;
  const { origin, hostname, pathname, href } = new URL(url);
  return HOST.test(hostname) && href === origin + pathname && OWN_PICTURE.test(pathname) ? href : null;
}

/** The origin of an image that may be displayed; null: it may not. */
export function coverOrigin(url: string, request: FastifyRequest, own: OwnAddresses): string | null {
  if (!isImageUrl(url)) return null;
  const { origin, hostname, host } = new URL(url);
  const isOurs = hasName(own, request, plainName(hostname)) && hasPort(own, request, portOf(host));
  return HOST.test(hostname) && !isOurs ? origin : null;
}

function hasName(own: OwnAddresses, { headers, raw: { socket } }: FastifyRequest, name: string): boolean {
  if (LOOPBACK.test(name) || name === plainAddress(socket.localAddress)) return true;
  const asked = (headers.host ?? '').replace(/:\d*$/, '');
  return [asked, ...own.names].some((each) => plainName(each) === name);
}

/** By http or https: a policy that allows http allows https too. */
function hasPort(own: OwnAddresses, { headers, raw: { socket } }: FastifyRequest, port: number): boolean {
  const ports = [portOf(headers.host ?? ''), socket.localPort, ...own.ports];
  return ports.includes(port) || (DEFAULT_PORTS.includes(port) && DEFAULT_PORTS.some((each) => ports.includes(each)));
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** The port of `name:port`, or the default port. */
function portOf(host: string): number {
  return Number(/:(\d+)$/.exec(host)?.[1] ?? DEFAULT_PORTS[0]);
}
