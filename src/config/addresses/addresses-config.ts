/** The addresses for clients: host and port, what each serves, its certificate, and whether a proxy is in front of it. */

import { isIPv4 } from 'node:net';
import * as z from 'zod';
import { choice, flag, host, list, section, whole } from '../field.js';
import type { ConfigContext } from '../station-config.js';
import { checkAcme, tlsSchema } from './tls.js';

/** What an address may serve. */
export const ROLES = ['push', 'poll', 'watch', 'stream', 'encoder', 'ops', 'admin', 'legacy'] as const;
export type Role = (typeof ROLES)[number];

export function addressesSchema(context: Pick<ConfigContext, 'env' | 'folder'>) {
  return list(
    section({
      host: host(),
      port: whole(0, 65_535),
      // Absent: port + 1, if no other address has it (shoutcastPortOf).
      shoutcastPort: z
        .union([whole(0, 65_535), z.literal(false)], { error: 'must be a port from 0 to 65535, or false' })
        .optional(),
      // Absent: all roles, and `ops` and `admin` answer loopback peers only (http/roles.ts).
      roles: list(choice(ROLES), 1, ROLES.length).optional(),
      tls: tlsSchema(context).optional(),
      proxyProtocol: flag().optional(),
    }),
    1,
    16,
  )
    .superRefine(checkAcme)
    .superRefine(checkPorts)
    .default([{ host: '127.0.0.1', port: 8000 }]);
}

/** Each configured port must belong to one address only. A default SHOUTcast port (shoutcastPortOf) yields instead. */
function checkPorts(
  addresses: readonly (WithPorts & { readonly host: string })[],
  { addIssue }: Pick<z.core.$RefinementCtx, 'addIssue'>,
): void {
  const taken: { readonly host: string; readonly port: number; readonly by: string }[] = [];
  for (const [index, address] of addresses.entries()) {
    for (const name of ['port', 'shoutcastPort'] as const) {
      const port = address[name];
      if (typeof port !== 'number' || port === 0) continue;
      const other = taken.find((each) => each.port === port && overlap(each.host, address.host));
      if (other === undefined) taken.push({ host: address.host, port, by: `addresses[${index}].${name}` });
      else addIssue({ code: 'custom', path: [index, name], message: `is taken by ${other.by}` });
    }
  }
}

/** Whether two hosts certainly have an IP address in common: `::` includes all IPv4 addresses. */
function overlap(a: string, b: string): boolean {
  const both = [a, b];
  if (a.toLowerCase() === b.toLowerCase() || both.includes('::')) return true;
  return both.includes('0.0.0.0') && both.every(isIPv4);
}

/** The options that determine the ports of an address. */
interface WithPorts {
  readonly port: number;
  readonly roles?: readonly Role[] | undefined;
  readonly shoutcastPort?: number | false | undefined;
}

/**
 * The second port of an address, for SHOUTcast encoders; undefined: none. By default it is the next port, unless another address has that.
 */
export function shoutcastPortOf(address: WithPorts, all: readonly WithPorts[]): number | undefined {
  const servesEncoders = address.roles === undefined || address.roles.includes('encoder');
  if (!servesEncoders || address.shoutcastPort === false) return undefined;
  if (address.shoutcastPort !== undefined) return address.shoutcastPort;
  const next = address.port + 1;
  const isFixed = address.port !== 0 && next <= 65_535;
  return isFixed && !all.some(({ port }) => port === next) ? next : undefined;
}
