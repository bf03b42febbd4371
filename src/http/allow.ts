/**
 * The methods that each kind of path accepts: the lists for `Allow`, in answers to OPTIONS and in 405 (RFC 9110, 10.2.1), and for CORS.
 * methods.ts enforces them for the routes of fastify.
 */

import { Refusal } from '../base/refusal.js';
import type { Mount } from '../channel/mount.js';
import type { Roles } from './roles.js';

/** Read-only paths that do not answer OPTIONS. */
export const GET_METHODS = 'GET, HEAD';
/** Read-only paths with CORS, and mounts, as far as listeners are concerned. */
export const READ_METHODS = `${GET_METHODS}, OPTIONS`;
/** A push. No HEAD: a link checker must not push. */
export const PUSH_METHODS = 'GET, POST';
/** A player's report; OPTIONS is the CORS preflight. */
export const REPORT_METHODS = 'POST, OPTIONS';
/** A WebSocket's handshake (RFC 6455, 4.1). */
export const WEBSOCKET_METHODS = 'GET';
/** An encoder that feeds a mount. */
const ENCODER_METHODS = 'PUT, SOURCE';
/** In the 401 for an encoder, where libshout looks for them; POST is for titles (src/http/ingest/README.md, "What encoders send"). */
export const CHALLENGE_METHODS = `${ENCODER_METHODS}, POST`;
/** An encoder's titles. */
export const TITLE_METHODS = 'GET, POST, OPTIONS';
/** The server as a whole (RFC 9110, 9.3.7). */
export const ALL_METHODS = 'GET, HEAD, POST, OPTIONS, PUT, SOURCE';

type MethodsOfMount = Pick<Mount, 'takesEncoder'>;

/** The headers that name the methods of a mount at an address with these roles. */
export function mountAllow({ takesEncoder }: MethodsOfMount, roles: Pick<Roles, 'has'>): Record<string, string> {
  const forListeners = roles.has('stream') ? READ_METHODS : 'OPTIONS';
  if (!takesEncoder || !roles.has('encoder')) return { Allow: forListeners };
  // An encoder is recognised by the first bytes of its connection (net/front/first-bytes.ts): its PUT has to come on a new one.
  return { Allow: `${forListeners}, ${ENCODER_METHODS}`, Connection: 'close' };
}

/** Whether an encoder starts with this method, and may feed this mount at an address with these roles. */
export function isEncoderMethod(method: string, { takesEncoder }: MethodsOfMount, roles: Pick<Roles, 'has'>): boolean {
  return takesEncoder && roles.has('encoder') && ENCODER_METHODS.split(', ').includes(method);
}

/** 405 for a method that a mount does not accept on a connection of the HTTP server. */
export function refuseMethod(method: string, mount: MethodsOfMount, roles: Pick<Roles, 'has'>): Refusal {
  const detail = isEncoderMethod(method, mount, roles)
    ? `An encoder needs its own connection: reconnect, and begin with ${method}.`
    : 'Listen to a mount with GET.';
  return new Refusal('method-not-allowed', detail, { headers: mountAllow(mount, roles) });
}
