/**
 * `streaminfo.json` (stream-meta.info, version 2): the data in the headers of a stream, as a file beside the page that `icy-url` names: the
 * station's own page, or one of ours. `/streaminfo.json` is that of `?mount=`, else of the first channel that has `streamInfo`; that of a
 * channel's page is below it.
 */

import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { Refusal } from '../../base/refusal.js';
import * as docs from '../../docs/tune-in.js';
import { publicRoute, type RouteRole } from '../methods.js';
import { JSON_TYPE } from '../reads.js';
import { askedMount, type MountStatus } from './mount-status.js';
import { NO_STORE } from './status-routes.js';

const ROLE: RouteRole = { role: 'stream' };
const HEADERS = { ...NO_STORE, 'Content-Type': JSON_TYPE };
const NUMBERS: ReadonlySet<string> = new Set(['icy-version', 'icy-index-metadata', 'icy-do-not-index']);

/** @param statuses in configured order */
export function registerStreamInfo(
  app: FastifyInstance,
  statuses: { readonly channels: readonly MountStatus[] },
): void {
  const sending =
    (find: (url: string, channel: string) => MountStatus | undefined): RouteHandlerMethod =>
    async (request, reply) => {
      const { channelkey = '' } = request.params as { readonly channelkey?: string };
      const found = find(request.raw.url!, channelkey);
      if (found === undefined) throw new Refusal('not-found', 'There is no such stream, or no information about it.');
      return reply.headers(HEADERS).send(Buffer.from(textOf(found)));
    };
  const asked = sending((url) => {
    const path = askedMount(url);
    return statuses.channels.find((each) => hasInfo(each) && (path === null || each.paths.includes(path)));
  });
  publicRoute(app, '/streaminfo.json', ROLE, asked, { docs: docs.streamInfo });
  const named = sending((_, key) => statuses.channels.find((each) => hasInfo(each) && each.mount.facts.key === key));
  publicRoute(app, '/listen/:channelkey/streaminfo.json', ROLE, named, { docs: docs.channelStreamInfo });
}

function hasInfo({ mount }: MountStatus): boolean {
  return mount.facts.info.length > 0;
}

function textOf({ mount }: MountStatus): string {
  const { name, genre, description, url, info } = mount.facts;
  const texts = { 'icy-name': name, 'icy-genre': genre, 'icy-description': description, 'icy-url': url };
  return JSON.stringify({
    ...Object.fromEntries(info.map(([member, value]) => [member, NUMBERS.has(member) ? Number(value) : value])),
    ...Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== '')),
  });
}
