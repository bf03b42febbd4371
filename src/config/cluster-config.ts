/** Options of a cluster of machines (src/cluster/README.md). Absent: this one is alone. */

import * as z from 'zod';
import { flag, host, isNetwork, list, readableFile, seconds, section, text, webUrl, whole } from './field.js';
import { signingKeySchema } from './secret.js';
import type { ConfigContext } from './station-config.js';

const MAX_CHARACTERS = 1024;

/** redis:// or rediss:// with a host, and perhaps user, password and database. */
const redisUrl = () => {
  const error = 'must be a redis:// or rediss:// URL';
  const unreadable = 'may end only with the number of a database, and must write a % in its password as %25';
  return z.string({ error }).refine(isRedisUrl, { error, abort: true }).refine(isReadable, { error: unreadable });
};

function isRedisUrl(value: string): boolean {
  if (value.length > MAX_CHARACTERS || !URL.canParse(value)) return false;
  const url = new URL(value);
  return /^rediss?:$/.test(url.protocol) && url.hostname !== '';
}

/** Redis's client throws otherwise, at each attempt to connect. */
function isReadable(value: string): boolean {
  const { username, password, pathname } = new URL(value);
  try {
    decodeURIComponent(username + password);
  } catch {
    return false;
  }
  return /^(\/\d*)?$/.test(pathname);
}

/** A machine's name. */
export const NODE_NAME = /^[A-Za-z0-9._-]{1,64}$/;

const nodeName = () => {
  const error = 'must be 1 to 64 of the characters A-Z a-z 0-9 . _ -';
  return z.string({ error }).regex(NODE_NAME, { error });
};

/** The host of another machine's URL, or the network of its address. */
const peer = () => {
  const error = 'must be a host name, an IP address, or a network such as 192.0.2.0/24';
  return z.string({ error }).refine((value) => isNetwork(value) || HOST_NAME.test(value), { error });
};
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*$/i;

export function clusterSchema(context: Pick<ConfigContext, 'env' | 'folder'>) {
  return section({
    // Absent: the shared state comes from an origin; without origins, this machine is the origin.
    url: redisUrl().optional(),
    // Tape URLs of machines of the same cluster: the first that answers is used.
    origins: list(webUrl(), 0, 16).default([]),
    // If there are any, they name the server's address; `url` has its scheme, user, password and database.
    sentinels: list(redisUrl(), 0, 16).default([]),
    master: text(1, 255).default('mymaster'),
    // CA certificates to verify Redis. Absent: those of Node.
    caFile: readableFile(context.folder).optional(),
    node: nodeName(),
    // Absent: titles are shared, and each machine has its own audio.
    tapes: section({
      host: host(),
      port: whole(0, 65_535),
      // Absent: made from `tls`, `host` and `port`.
      advertise: webUrl().optional(),
      secret: signingKeySchema(context.env),
      tls: section({ certFile: readableFile(context.folder), keyFile: readableFile(context.folder) }).optional(),
      caFile: readableFile(context.folder).optional(),
    }).optional(),
    // Empty: any machine whose address is in Redis or at the origin. Each must prove that it knows the secret.
    peers: list(peer(), 0, 1000).default([]),
    prefix: text(0, 64).default('airsplice:'),
    sources: flag().default(true),
    answerSeconds: seconds(0.1, 10).default(1),
    logChanges: whole(1000, 10_000_000).default(20_000),
    waitingChanges: whole(1, 10_000).default(500),
  });
}

/** The number of workers: at least one if machines share audio, since the process that fetches tapes does not play them. */
export function workersAsked<T extends number | 'auto'>(
  workers: T,
  cluster: { readonly tapes?: unknown } | undefined,
): T | 1 {
  return workers === 0 && cluster?.tapes !== undefined ? 1 : workers;
}
