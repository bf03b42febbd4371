/**
 * Where other nodes come for tapes: `GET /-/tape/{channel}` with `Upgrade: airsplice-tape` and the cluster's secret as a bearer. Behind the answer 101 the
 * connection speaks the tape link (../link/README.md). It is a port of its own, for machines of ours only.
 *
 *   ?for=listen            takes the tape as a worker does
 *   ?for=offer             is offered what there is of it, to go on with it where its owner is lost
 *   ?for=take&epoch=E      its owner stops, and hands it over whole, with what is open and what waits
 *
 * `GET /-/sessions` in the same way: the sessions of metaids (session-bridge.ts); `GET /-/log`: what all nodes have in common, for one that has no Redis
 * (remote-log.ts).
 */

import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Duplex } from 'node:stream';

export const PURPOSES = ['listen', 'offer', 'take'] as const;
export type Purpose = (typeof PURPOSES)[number];
export const PROTOCOL = 'airsplice-tape';

export interface TapeRequest {
  readonly channel: string;
  readonly purpose: Purpose;
  /** Of who asks to take it. */
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
  /** False: there is no such channel, or it cannot be had from here now. */
  onTape(request: TapeRequest, stream: Duplex): boolean;
  /** @param node that has connected */
  onSessions(node: string, stream: Duplex): void;
  /** Another node comes for what all have in common. */
  onLog(stream: Duplex): void;
  onError(error: unknown): void;
}

/** Of a request: nothing that nodes send is longer. */
const HEAD_BYTES = 4096;
const HEAD_MS = 5000;
const CHECK_MS = 1000;
const MOST_CONNECTIONS = 20_000;
/** The port may be that of the process before this one. */
const RETRY_MS = 100;
const RETRIES = 50;

export class TapeServer {
  readonly #parts: TapeServerParts;
  readonly #server: Server;
  readonly #streams = new Set<Duplex>();

  constructor(parts: TapeServerParts) {
    this.#parts = parts;
    const { tls } = parts;
    const options = {
      ...{ maxHeaderSize: HEAD_BYTES, headersTimeout: HEAD_MS, requestTimeout: HEAD_MS, keepAlive: true },
      connectionsCheckingInterval: CHECK_MS,
    };
    this.#server = tls === undefined ? createServer(options) : createTlsServer({ ...options, ...tls });
    this.#server.maxConnections = MOST_CONNECTIONS;
    this.#server.on('request', (_, response) => {
      response.writeHead(426, { Upgrade: PROTOCOL, Connection: 'Upgrade, close', 'Content-Length': 0 }).end();
    });
    this.#server.on('upgrade', (request, stream, ahead) => {
      if (ahead.length > 0) stream.unshift(ahead);
      this.#upgrade(request, stream);
    });
    this.#server.on('clientError', (_, stream) => stream.destroy());
  }

  /** Resolves with the port. Rejects where it cannot be had. */
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

  /** Takes no more connections; those that are there go on. */
  stop(): void {
    this.#server.close();
  }

  /** Ends all. */
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
      return;
    }
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
    // What is written to it next goes out behind this.
    stream.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${PROTOCOL}\r\nConnection: Upgrade\r\n\r\n`);
    if (common?.of === 'sessions') this.#parts.onSessions(common.node, stream);
    else if (common?.of === 'log') this.#parts.onLog(stream);
    else if (!this.#parts.onTape(asked!, stream)) stream.end();
  }

  #isOurs({ headers }: IncomingMessage): boolean {
    const { secret } = this.#parts;
    const given = Buffer.from(headers.authorization?.replace(/^Bearer /, '') ?? '', 'latin1');
    // In constant time for those that are as long.
    return given.length === secret.length && timingSafeEqual(given, secret);
  }
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
