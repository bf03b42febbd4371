/**
 * What we agree to in a TLS handshake: Node's defaults, without what is expensive for us and cheap for a client. One answer in ffdhe8192, which
 * Node 20 gives to every client that asks, costs 100 ms; one in secp521r1 5 ms, in secp384r1 1.5 ms; X25519 and P-256 cost a third of one. A
 * renegotiation is a handshake at any moment that the client likes, and where the client encrypts for our RSA key, we decrypt in its second flight.
 */

import { constants } from 'node:crypto';
import tls from 'node:tls';
import type { Pair } from './certificate.js';

/** RFC 8446, 9.1: every client has P-256. */
const GROUPS = 'X25519:P-256';
/** What browsers of today offer first; unknown to OpenSSL before 3.5. */
const HYBRID_GROUPS = `X25519MLKEM768:${GROUPS}`;

const COMMON = {
  ecdhCurve: isKnown(HYBRID_GROUPS) ? HYBRID_GROUPS : GROUPS,
  ciphers: `${tls.DEFAULT_CIPHERS}:!kRSA`,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** For `tls.createServer` and for `setSecureContext`, which begins anew with Node's defaults. */
export function tlsOptions(pair: Pair): tls.SecureContextOptions {
  return { ...pair, ...COMMON };
}

function isKnown(ecdhCurve: string): boolean {
  try {
    tls.createSecureContext({ ecdhCurve });
    return true;
  } catch {
    return false;
  }
}
