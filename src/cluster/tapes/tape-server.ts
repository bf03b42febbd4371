/**
 * Serves tapes to other nodes: `GET /-/tape/{channel}` with `Upgrade: airsplice-tape`, for machines that prove the cluster's secret (tape-auth.ts).
 * After the response 101 the connection is a tape link (../../link/README.md). It is a port of its own, for the machines of the cluster only.
 *
 *   ?for=listen            takes the tape as a worker does
 *   ?for=offer             is offered the part that is here, to continue it after the loss of the owner
 *   ?for=take&epoch=E      its owner stops, and hands it over whole, with the open segment and the delay line
 *
 * `GET /-/sessions` likewise: the sessions of metaids (session-bridge.ts); `GET /-/log`: the shared log, for a node without Redis (remote-log.ts).
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { limitClientKeys } from '../../net/tls/key-updates.js';
import { tlsOptions } from '../../net/tls/tls-options.js';
import { isProof, newNonce, proofOf, read, written } from './tape-auth.js';

const PURPOSES = ['listen', 'offer', 'take'] as const;
export type Purpose = (typeof PURPOSES)[number];
export const PROTOCOL = 'airsplice-tape';

export interface TapeRequest {
  readonly channel: string;
  readonly purpose: Purpose;
  /** The epoch of the lease of the node that takes it. */
  readonly epoch: number;
  readonly node: string;
  readonly url: string;
}

export interface TapeServerParts {
  readonly host: string;
  readonly port: number;
  /** PEM; undefined: without TLS. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly secret: Buffer;
  /** Whether other nodes know this one by this host. A request for another machine is refused, before anything is proved. */
  isOwnHost(host: string): boolean;
  /** False: there is no such channel, or its tape is not available here now. */
  onTape(request: TapeRequest, stream: Duplex): boolean;
  /** @param node that has connected */
  onSessions(node: string, stream: Duplex): void;
  /** Another node asks for the shared log. */
  onLog(stream: Duplex, node: string): void;
  /** Whether links of this machine are refused for now, after a bad message. */
  isLeftAlone?(node: string, stream: Duplex): boolean;
  onError(error: unknown): void;
}

/** Maximum size of a request: requests of nodes are shorter. */
const HEAD_BYTES = 4096;
const HEAD_MS = 5000;
const CHECK_MS = 1000;
const MAX_CONNECTIONS = 20_000;
/** Maximum number of unauthenticated connections of one address: a node asks for all its channels at once. */
const MAX_STRANGERS = 1024;
/** Time for a refused client to read the response. */
const REFUSED_MS = 1000;
/** The former process may still have the port. */
const RETRY_MS = 100;
const RETRIES = 50;

export class TapeServer {
  readonly #parts: TapeServerParts;
  readonly #server: Server;
  readonly #streams = new Set<Duplex>();
  /** The nonces of a connection during authentication. */
  readonly #nonces = new WeakMap<Duplex, { readonly client: string; readonly server: string }>();
  /** By address, the ports of unauthenticated connections: ports, since TLS wraps the socket in another object later. */
  readonly #strangers = new Map<string, Set<number>>();

  constructor(parts: TapeServerParts) {
    this.#parts = parts;
    const { tls } = parts;
    const options = {
      maxHeaderSize: HEAD_BYTES,
      headersTimeout: HEAD_MS,
      requestTimeout: HEAD_MS,
      keepAlive: true,
      connectionsCheckingInterval: CHECK_MS,
      // For TLS only.
      handshakeTimeout: HEAD_MS,
    };
    if (tls === undefined) this.#server = createServer(options);
    else {
      const server = createTlsServer({ ...options, ...tlsOptions(tls) });
      limitClientKeys(server, () => undefined);
      this.#server = server;
    }
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on('connection', (stream: Socket) => this.#onConnection(stream));
    this.#server.on('request', (request, response) => this.#challenge(request, response));
    this.#server.on('upgrade', (request, stream, ahead) => {
      if (ahead.length > 0) stream.unshift(ahead);
      this.#upgrade(request, stream);
    });
    this.#server.on('clientError', (_, stream) => stream.destroy());
  }

  /** Resolves with the port. Rejects if it is not available. */
  async listen(): Promise<number> {
    const { host, port } = this.#parts;
    for (let tries = 0; ; tries++) {
      try {
        await new Promise<void>((resolve, reject) => {
          this.#server.once('error', reject).listen({ host, port }, () => {
            this.#server.off('error', reject);
            resolve();
          });
        });
        this.#server.on('error', this.#parts.onError);
        return (this.#server.address() as { port: number }).port;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries === RETRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** Accepts no more connections; present ones stay. */
  stop(): void {
    this.#server.close();
  }

  /** Ends all connections. */
  close(): void {
    this.stop();
    this.#server.closeAllConnections();
    for (const stream of this.#streams) stream.destroy();
  }

  #upgrade(request: IncomingMessage, stream: Duplex): void {
    stream.on('error', () => stream.destroy());
    stream.once('end', () => stream.end());
    const isOurs = this.#isOurs(request);
    const common = isOurs ? commonOf(request) : null;
    const asked = isOurs ? requestOf(request) : null;
    if (asked === null && common === null) {
      const status = isOurs ? '404 Not Found' : '403 Forbidden';
      stream.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      setTimeout(() => stream.destroy(), REFUSED_MS).unref();
      return;
    }
    this.#forget(request.socket.remoteAddress, request.socket.remotePort);
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
    // Data written to it next follows this.
    stream.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${PROTOCOL}\r\nConnection: Upgrade\r\n\r\n`);
    const isLeftAlone = this.#parts.isLeftAlone?.(common?.node ?? asked!.node, stream) ?? false;
    if (!isLeftAlone && common?.of === 'sessions') this.#parts.onSessions(common.node, stream);
    else if (!isLeftAlone && common?.of === 'log') this.#parts.onLog(stream, common.node);
    else if (isLeftAlone || !this.#parts.onTape(asked!, stream)) {
      stream.end();
      setTimeout(() => stream.destroy(), REFUSED_MS).unref();
    }
  }

  #onConnection(stream: Socket): void {
    const { remoteAddress: address = '', remotePort: port = 0 } = stream;
    const strangers = this.#strangers.get(address) ?? new Set();
    if (strangers.size >= MAX_STRANGERS) {
      stream.destroy();
      return;
    }
    this.#strangers.set(address, strangers.add(port));
    stream.once('close', () => this.#forget(address, port));
  }

  /** The connection is authenticated, or closed. Idempotent. */
  #forget(address = '', port = 0): void {
    const strangers = this.#strangers.get(address);
    strangers?.delete(port);
    if (strangers?.size === 0) this.#strangers.delete(address);
  }

  /** Proves the secret to the other end, and asks for its proof. */
  #challenge(request: IncomingMessage, response: ServerResponse): void {
    const given = read(request.headers.authorization);
    if (given === null || given.proof !== null) {
      response.writeHead(426, { Upgrade: PROTOCOL, Connection: 'Upgrade, close', 'Content-Length': 0 }).end();
      return;
    }
    // A proof for another address could be passed on from there.
    if (!this.#isForUs(request)) {
      response.writeHead(403, { 'Content-Length': 0 }).end();
      return;
    }
    const nonces = { client: given.nonce, server: newNonce() };
    this.#nonces.set(request.socket, nonces);
    const proof = proofOf(this.#parts.secret, { by: 'server', ...nonces, ...askedOf(request) });
    response.writeHead(401, { 'WWW-Authenticate': written(nonces.server, proof), 'Content-Length': 0 }).end();
  }

  /** Whether the other end proves the secret, for a request to this machine. Nonces are used once. */
  #isOurs(request: IncomingMessage): boolean {
    const given = read(request.headers.authorization);
    const nonces = this.#nonces.get(request.socket);
    this.#nonces.delete(request.socket);
    if (given === null || given.proof === null || nonces?.client !== given.nonce) return false;
    if (!this.#isForUs(request)) return false;
    return isProof(this.#parts.secret, { by: 'client', ...nonces, ...askedOf(request) }, given.proof);
  }

  /** Whether this machine is asked. An origin may be configured by any name; other addresses come from Redis or the origin. */
  #isForUs({ url = '', headers }: IncomingMessage): boolean {
    return url.startsWith('/-/log?') || this.#parts.isOwnHost(headers.host ?? '');
  }
}

function askedOf({ url = '', headers }: IncomingMessage) {
  return { path: url, host: headers.host ?? '' };
}

function requestOf({ url = '', headers }: IncomingMessage): TapeRequest | null {
  const [, channel, query = ''] = /^\/-\/tape\/([A-Za-z0-9_-]{1,64})(?:\?(.*))?$/.exec(url) ?? [];
  if (channel === undefined || headers.upgrade !== PROTOCOL) return null;
  const parameters = new URLSearchParams(query);
  const purpose = PURPOSES.find((each) => each === parameters.get('for'));
  if (purpose === undefined) return null;
  const text = (name: string) => parameters.get(name) ?? '';
  return { channel, purpose, epoch: Number(text('epoch')) || 0, node: text('node'), url: text('url') };
}

/** A node that comes for what is not of one channel; null: it does not. */
function commonOf({ url = '', headers }: IncomingMessage): { readonly of: string; readonly node: string } | null {
  const [, of, node] = /^\/-\/(sessions|log)\?node=([A-Za-z0-9._-]{1,64})$/.exec(url) ?? [];
  return of === undefined || headers.upgrade !== PROTOCOL ? null : { of, node: node! };
}
