/**
 * Which methods a path takes: one list for `Allow` of OPTIONS and of 405 alike (RFC 9110, 10.2.1), and for what pages of other origins may
 * do. What fastify's routes take is said where they are registered (methods.ts).
 */

import { Refusal } from '../base/refusal.js';
import type { Mount } from '../channel/mount.js';
import type { Roles } from './roles.js';

/** Of what can only be read; of a mount, what pages may do. */
export const READ_METHODS = 'GET, HEAD, OPTIONS';
/** Of an encoder that feeds a mount. */
export const ENCODER_METHODS = 'PUT, SOURCE';
/** Of an encoder's titles. */
export const TITLE_METHODS = 'GET, POST, OPTIONS';
/** Of the server as a whole (RFC 9110, 9.3.7). */
export const ALL_METHODS = 'GET, HEAD, POST, OPTIONS, PUT, SOURCE';

type MethodsOfMount = Pick<Mount, 'takesEncoder'>;

/** Headers that name the methods of a mount, at an address with these roles. */
export function mountAllow({ takesEncoder }: MethodsOfMount, roles: Pick<Roles, 'has'>): Record<string, string> {
  const forListeners = roles.has('stream') ? READ_METHODS : 'OPTIONS';
  if (!takesEncoder || !roles.has('encoder')) return { Allow: forListeners };
  // An encoder is known by the first bytes of its connection (net/first-bytes.ts), so its PUT must not follow on this one.
  return { Allow: `${forListeners}, ${ENCODER_METHODS}`, Connection: 'close' };
}

/** 405 for a method that a mount does not take on a connection that the HTTP server reads. */
export function refuseMethod(method: string, mount: MethodsOfMount, roles: Pick<Roles, 'has'>): Refusal {
  const isEncoder = ENCODER_METHODS.split(', ').includes(method) && mount.takesEncoder && roles.has('encoder');
  const detail = isEncoder
    ? `An encoder needs a connection of its own: connect again, and begin with ${method}.`
    : 'Listen to a mount with GET.';
  return new Refusal('method-not-allowed', detail, { headers: mountAllow(mount, roles) });
}
