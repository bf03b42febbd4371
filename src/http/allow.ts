/**
 * Which methods a path takes: every list for `Allow`, of OPTIONS and of 405 alike (RFC 9110, 10.2.1), and for what pages of other origins
 * may do. Routes of fastify's are held to them by methods.ts.
 */

import { Refusal } from '../base/refusal.js';
import type { Mount } from '../channel/mount.js';
import type { Roles } from './roles.js';

/** Of what can only be read, where there is no answer to OPTIONS. */
export const GET_METHODS = 'GET, HEAD';
/** Of what can only be read; of a mount, what pages may do. */
export const READ_METHODS = `${GET_METHODS}, OPTIONS`;
/** Of a push. No HEAD: a link checker must not push. */
export const PUSH_METHODS = 'GET, POST';
/** Of a player's report; OPTIONS is the preflight of pages of other origins. */
export const REPORT_METHODS = 'POST, OPTIONS';
/** Of a WebSocket's handshake (RFC 6455, 4.1). */
export const WEBSOCKET_METHODS = 'GET';
/** Of an encoder that feeds a mount. */
export const ENCODER_METHODS = 'PUT, SOURCE';
/** In a refusal of an encoder's secret. libshout looks for them; POST is for titles (src/http/ingest/README.md, "What encoders send"). */
export const CHALLENGE_METHODS = `${ENCODER_METHODS}, POST`;
/** Of an encoder's titles. */
export const TITLE_METHODS = 'GET, POST, OPTIONS';
/** Of the server as a whole (RFC 9110, 9.3.7). */
export const ALL_METHODS = 'GET, HEAD, POST, OPTIONS, PUT, SOURCE';

type MethodsOfMount = Pick<Mount, 'takesEncoder'>;

/** Headers that name the methods of a mount, at an address with these roles. */
export function mountAllow({ takesEncoder }: MethodsOfMount, roles: Pick<Roles, 'has'>): Record<string, string> {
  const forListeners = roles.has('stream') ? READ_METHODS : 'OPTIONS';
  if (!takesEncoder || !roles.has('encoder')) return { Allow: forListeners };
  // An encoder is known by the first bytes of its connection (net/front/first-bytes.ts), so its PUT must not follow on this one.
  return { Allow: `${forListeners}, ${ENCODER_METHODS}`, Connection: 'close' };
}

/** Whether it is how an encoder begins that may feed this mount at an address with these roles. */
export function isEncoderMethod(method: string, { takesEncoder }: MethodsOfMount, roles: Pick<Roles, 'has'>): boolean {
  return takesEncoder && roles.has('encoder') && ENCODER_METHODS.split(', ').includes(method);
}

/** 405 for a method that a mount does not take on a connection that the HTTP server reads. */
export function refuseMethod(method: string, mount: MethodsOfMount, roles: Pick<Roles, 'has'>): Refusal {
  const detail = isEncoderMethod(method, mount, roles)
    ? `An encoder needs a connection of its own: connect again, and begin with ${method}.`
    : 'Listen to a mount with GET.';
  return new Refusal('method-not-allowed', detail, { headers: mountAllow(mount, roles) });
}
