/** The addresses at which clients come: where, what each serves, with which certificate, and whether a proxy is before it. */

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
      // Absent: port + 1, if no other address has it (app/addresses/addresses.ts).
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
    .default([{ host: '127.0.0.1', port: 8000 }]);
}
