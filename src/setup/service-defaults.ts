/**
 * Options of every first configuration besides its channels: a user of the admin interface, HLS, and, for the service (below /etc), workers, which
 * can be replaced without disconnecting listeners.
 */

import type { Draft, DraftOptions } from './draft.js';
import { makePassword } from './made-secret.js';

/** The configuration of the package's service. */
export const SERVICE_CONFIG = '/etc/airsplice/airsplice.yaml';
export const ADMIN = 'admin';

export interface Equipped {
  readonly draft: Draft;
  /** The password of the user ADMIN, shown once. */
  readonly adminPassword: string;
}

/** @param path of the configuration, absolute */
export function equip(draft: Draft, path: string): Equipped {
  const { plain, option } = makePassword();
  const { addresses, ...others } = draft.options;
  const isService = path.startsWith('/etc/');
  const options: DraftOptions = {
    addresses: addresses!,
    ...(isService ? { workers: 'auto' } : {}),
    admin: { users: { [ADMIN]: { password: option, rights: ['read', 'titles', 'operate'] } } },
    ...others,
    streams: { ...(others['streams'] as DraftOptions | undefined), hls: { enabled: true } },
  };
  const comments = [
    ...draft.comments,
    {
      path: ['admin'],
      text: 'A user who may see and change everything at /admin and by /admin/api, from this machine only, and the digest of the password.',
    },
    {
      path: ['streams', 'hls'],
      text: "Each stream also as HLS, at MOUNT/hls.m3u8: for Apple's players, cars, and any cache or CDN.",
    },
  ];
  if (isService)
    comments.push({
      path: ['workers'],
      text: 'One process for sources and titles, and others for listeners, so that upgrades interrupt no client. 0: one process for all.',
    });
  return { draft: { ...draft, options, comments }, adminPassword: plain };
}
