/** Opens links to another node: for a channel's tape, for sessions, or for the shared log (tape-server.ts), by undici. */

import { constants } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { messageOf } from '../../net/outbound/message-of.js';
import { limitServerKeys } from '../../net/tls/key-updates.js';
import { isProof, newNonce, proofOf, read, written } from './tape-auth.js';
import { PROTOCOL, type Purpose } from './tape-server.js';

/** Another machine, and the URL of its tapes, from Redis or the origin. */
export interface Machine {
  readonly node: string;
  readonly url: string;
}

export interface TapeClientOptions {
  readonly secret: Buffer;
  /** The name of this node, and the URL of its tapes. */
  readonly node: string;
  readonly url: string;
  /** PEM of the certificate authorities of nodes; undefined: those of Node. */
  readonly ca?: Buffer | undefined;
  /** Whether the configuration allows connections to it; absent: it does. @param url from Redis or the origin */
  mayAsk?(url: string): boolean;
}

const CONNECT_MS = 1000;
const ANSWER_MS = 1500;
/** Maximum size of a response head. */
const HEAD_BYTES = 4096;

/** Resolves with the connection, after its response head; rejects with the reason. @param url of the other node */
export function askForTape(
  url: string,
  channel: string,
  purpose: Purpose,
  options: TapeClientOptions,
  epoch = 0,
): Promise<Duplex> {
  const { node, url: own } = options;
  const query = new URLSearchParams({ for: purpose, node, url: own, epoch: String(epoch) });
  return upgraded(url, `/-/tape/${channel}?${query}`, options);
}

/** The same for sessions. */
export function askForSessions(url: string, options: TapeClientOptions): Promise<Duplex> {
  return upgraded(url, `/-/sessions?node=${options.node}`, options);
}

/** The same for the shared log. */
export function askForLog(url: string, options: Omit<TapeClientOptions, 'url'>): Promise<Duplex> {
  return upgraded(url, `/-/log?node=${options.node}`, options);
}

/** Loads undici in advance, for the first request. Rejects if that fails. */
export async function prepareToAsk(): Promise<void> {
  await import('../http-client.js');
}

/** Both requests use one connection. The other end proves the secret first; else it gets no proof. */
async function upgraded(
  url: string,
  path: string,
  { secret, ca, mayAsk }: Pick<TapeClientOptions, 'secret' | 'ca' | 'mayAsk'>,
): Promise<Duplex> {
  const { host } = new URL(url);
  if (mayAsk?.(url) === false)
    throw new Error(`${host} must not be contacted: its URL is not https, or it is not in cluster.peers`);
  // Loaded when it is needed: a server without a cluster starts without it.
  const { buildConnector, Client } = await import('../http-client.js');
  const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;
  const connect = buildConnector({ timeout: CONNECT_MS, secureOptions, ...(ca && { ca }) });
  const client = new Client(url, {
    connect: (to, callback) =>
      connect(to, (...connected) => {
        if (connected[1] instanceof TLSSocket) limitServerKeys(connected[1]);
        callback(...connected);
      }),
    headersTimeout: ANSWER_MS,
    bodyTimeout: ANSWER_MS,
    maxHeaderSize: HEAD_BYTES,
    pipelining: 1,
  });
  const signal = AbortSignal.timeout(CONNECT_MS + 2 * ANSWER_MS);
  try {
    const nonce = newNonce();
    const asked = await client.request({
      path,
      method: 'GET',
      signal,
      headers: { host, authorization: written(nonce) },
    });
    await asked.body.dump();
    const answered = read(String(asked.headers['www-authenticate'] ?? ''));
    if (answered === null) throw new Error(`${host} does not answer as a machine of a cluster (${asked.statusCode})`);
    const proof = { client: nonce, server: answered.nonce, path, host };
    if (!isProof(secret, { by: 'server', ...proof }, answered.proof ?? '')) {
      throw new Error(`${host} does not have this cluster's secret (cluster.tapes.secret)`);
    }
    const { socket } = await client.upgrade({
      path,
      method: 'GET',
      protocol: PROTOCOL,
      signal,
      headers: { host, authorization: written(nonce, proofOf(secret, { by: 'client', ...proof })) },
    });
    socket.on('error', () => socket.destroy());
    return socket;
  } catch (error) {
    void client.destroy().catch(() => undefined);
    throw error instanceof AggregateError ? new Error(messageOf(error), { cause: error }) : error;
  }
}
