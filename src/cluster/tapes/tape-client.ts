/** Asks another node for a channel's tape, for sessions, or for what all have in common (tape-server.ts), by undici. */

import { constants } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { limitServerKeys } from '../../net/tls/key-updates.js';
import { isProof, newNonce, proofOf, read, written } from './tape-auth.js';
import { PROTOCOL, type Purpose } from './tape-server.js';

/** Another machine, and where it gives its tapes, as Redis or the origin has it. */
export interface Machine {
  readonly node: string;
  readonly url: string;
}

export interface TapeClientOptions {
  readonly secret: Buffer;
  /** This node, and where it gives its tapes. */
  readonly node: string;
  readonly url: string;
  /** PEM of the authorities that a node's certificate may be from; undefined: those that Node knows. */
  readonly ca?: Buffer | undefined;
  /** Whether the configuration allows to ask there; absent: it does. @param url as Redis or the origin has it */
  mayAsk?(url: string): boolean;
}

const CONNECT_MS = 1000;
const ANSWER_MS = 1500;
/** Of the head of an answer. */
const HEAD_BYTES = 4096;

/** Resolves with the connection, behind its answer; rejects with why there is none. @param url of the other node */
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

/** The same for what all have in common. */
export function askForLog(url: string, options: Omit<TapeClientOptions, 'url'>): Promise<Duplex> {
  return upgraded(url, `/-/log?node=${options.node}`, options);
}

/** Loads what it needs: the first to ask need not wait for that. Rejects where it cannot be had. */
export async function prepareToAsk(): Promise<void> {
  await import('../http-client.js');
}

/** Over one connection. The other end proves the secret first; one that cannot gets no proof. */
async function upgraded(
  url: string,
  path: string,
  { secret, ca, mayAsk }: Pick<TapeClientOptions, 'secret' | 'ca' | 'mayAsk'>,
): Promise<Duplex> {
  const { host } = new URL(url);
  if (mayAsk?.(url) === false)
    throw new Error(`${host} may not be asked: its URL is not https, or cluster.peers does not have it`);
  // Loaded when it is needed: a server that is alone starts without it.
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
    throw error;
  }
}
