/**
 * Which methods a path takes: one list for `Allow` of OPTIONS and of 405 alike (RFC 9110, 10.2.1), and for what pages of other origins may
 * do. What fastify's routes take is said where they are registered (methods.ts).
 */

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

/** Of a mount, at an address with these roles. */
export function mountMethods({ takesEncoder }: Pick<Mount, 'takesEncoder'>, roles: Pick<Roles, 'has'>): string {
  const forListeners = roles.has('stream') ? READ_METHODS : 'OPTIONS';
  return takesEncoder && roles.has('encoder') ? `${forListeners}, ${ENCODER_METHODS}` : forListeners;
}
