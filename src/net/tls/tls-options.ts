/**
 * TLS options of our servers: Node's defaults without algorithms that are expensive for us and cheap for clients. An answer in ffdhe8192 (on by
 * default in Node 20) costs 100 ms, in secp521r1 5 ms, in secp384r1 1.5 ms, in X25519 and P-256 a third of a millisecond. A renegotiation is a
 * handshake at any time; with RSA key exchange we have to decrypt.
 */

import { constants } from 'node:crypto';
import tls from 'node:tls';
import type { Pair } from './certificate.js';
import { TICKETS_LAST_MS } from './session-tickets.js';

/** RFC 8446, 9.1: every client has P-256. */
const GROUPS = 'X25519:P-256';
/** Today's browsers offer these first; unknown to OpenSSL before 3.5. */
const HYBRID_GROUPS = `X25519MLKEM768:${GROUPS}`;

const COMMON = {
  ecdhCurve: isKnown(HYBRID_GROUPS) ? HYBRID_GROUPS : GROUPS,
  ciphers: `${tls.DEFAULT_CIPHERS}:!kRSA`,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** For `tls.createServer` and `setSecureContext`, which both start from Node's defaults. @param pair null: none yet, every handshake is refused */
export function tlsOptions(pair: Pair | null): tls.SecureContextOptions {
  return { ...pair, ...COMMON };
}

/** The context of servers that resume each other's sessions. Node's default depends on the command line. */
const SESSIONS = 'airsplice';

/** The same for servers whose clients resume sessions in every process (session-tickets.ts). @param keys null: each server has its own */
export function resumableOptions(pair: Pair | null, keys: Buffer | null): tls.TlsOptions {
  const sessions = { sessionIdContext: SESSIONS, sessionTimeout: TICKETS_LAST_MS / 1000 };
  return { ...tlsOptions(pair), ...sessions, ...(keys && { ticketKeys: keys }) };
}

function isKnown(ecdhCurve: string): boolean {
  try {
    tls.createSecureContext({ ecdhCurve });
    return true;
  } catch {
    return false;
  }
}
