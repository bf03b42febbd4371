/** The other machines, where there are some (src/cluster/README.md). Absent: this one is alone. */

import * as z from 'zod';
import { flag, host, isNetwork, list, readableFile, seconds, section, text, webUrl, whole } from './field.js';
import { signingKeySchema } from './secret.js';
import type { ConfigContext } from './station-config.js';

const MAX_CHARACTERS = 1024;

/** redis:// or rediss:// with a host; user and password may stand in it. */
const redisUrl = () => {
  const error = 'must be a redis:// or rediss:// URL';
  return z.string({ error }).refine(isRedisUrl, { error });
};

function isRedisUrl(value: string): boolean {
  if (value.length > MAX_CHARACTERS || !URL.canParse(value)) return false;
  const url = new URL(value);
  return /^rediss?:$/.test(url.protocol) && url.hostname !== '';
}

/** A machine's name. */
export const NODE_NAME = /^[A-Za-z0-9._-]{1,64}$/;

const nodeName = () => {
  const error = 'must be 1 to 64 of the characters A-Z a-z 0-9 . _ -';
  return z.string({ error }).regex(NODE_NAME, { error });
};

/** The host of another machine's URL, or its network. */
const peer = () => {
  const error = 'must be a host name, an IP address, or a network such as 192.0.2.0/24';
  return z.string({ error }).refine((value) => isNetwork(value) || HOST_NAME.test(value), { error });
};
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*$/i;

export function clusterSchema(context: Pick<ConfigContext, 'env' | 'folder'>) {
  return section({
    // Absent: what all machines have in common is had from an origin; where there is none either, this machine is one.
    url: redisUrl().optional(),
    // Where other machines of the same cluster give their tapes: the first that answers is asked.
    origins: list(webUrl(), 0, 16).default([]),
    // Where there are some, they say where the server is; the URL has its scheme, user, password and database.
    sentinels: list(redisUrl(), 0, 16).default([]),
    master: text(1, 255).default('mymaster'),
    // Of the authorities that Redis's certificate is from. Absent: those that Node knows.
    caFile: readableFile(context.folder).optional(),
    node: nodeName(),
    // Absent: titles are shared, and each machine has its own audio.
    tapes: section({
      host: host(),
      port: whole(0, 65_535),
      // Absent: by http:// or https://, host and port.
      advertise: webUrl().optional(),
      secret: signingKeySchema(context.env),
      tls: section({ certFile: readableFile(context.folder), keyFile: readableFile(context.folder) }).optional(),
      caFile: readableFile(context.folder).optional(),
    }).optional(),
    // Empty: any whose address is in Redis or at the origin. Each has to prove the secret in any case.
    peers: list(peer(), 0, 1000).default([]),
    prefix: text(0, 64).default('airsplice:'),
    sources: flag().default(true),
    answerSeconds: seconds(0.1, 10).default(1),
    logChanges: whole(1000, 10_000_000).default(20_000),
    waitingChanges: whole(1, 10_000).default(500),
  });
}

/**
 * How many workers there are: where audio is shared at least one, since what plays a tape is another process than what takes it from other machines.
 */
export function workersAsked<T extends number | 'auto'>(
  workers: T,
  cluster: { readonly tapes?: unknown } | undefined,
): T | 1 {
  return workers === 0 && cluster?.tapes !== undefined ? 1 : workers;
}
