/** Asks another node for a channel's tape, for sessions, or for what all have in common (tape-server.ts), by undici. */

import type { Duplex } from 'node:stream';
import { PROTOCOL, type Purpose } from './tape-server.js';

export interface TapeClientOptions {
  readonly secret: Buffer;
  /** This node, and where it gives its tapes. */
  readonly node: string;
  readonly url: string;
  /** PEM of the authorities that a node's certificate may be from; undefined: those that Node knows. */
  readonly ca?: Buffer | undefined;
}

const CONNECT_MS = 1000;
const ANSWER_MS = 1500;

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
  await import('./http-client.js');
}

async function upgraded(
  url: string,
  path: string,
  { secret, ca }: Pick<TapeClientOptions, 'secret' | 'ca'>,
): Promise<Duplex> {
  // Loaded when it is needed: a server that is alone starts without it.
  const { Client } = await import('./http-client.js');
  const client = new Client(url, { connect: { timeout: CONNECT_MS, ...(ca && { ca }) }, headersTimeout: ANSWER_MS });
  try {
    const { socket } = await client.upgrade({
      ...{ path, method: 'GET', protocol: PROTOCOL },
      headers: { authorization: `Bearer ${secret.toString('latin1')}` },
      signal: AbortSignal.timeout(CONNECT_MS + ANSWER_MS),
    });
    socket.on('error', () => socket.destroy());
    return socket;
  } catch (error) {
    void client.destroy().catch(() => undefined);
    throw error;
  }
}
