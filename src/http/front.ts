/**
 * The front of one address: a bare `net` or `tls` server that looks at the first bytes of a connection (of a TLS one: decrypted) and
 * hands it on.
 *
 *   PUT, SOURCE  ─► the encoders' door (their heads are no HTTP that Node's parser takes: protocol.md, "Encoders")
 *   GET of a mount ─► the listeners' door (no HTTP objects stay behind in a crowd of listeners)
 *   GET of a channel's record ─► the polls' door (no HTTP objects at all, as long as nothing else is asked)
 *   a method of HTTP's, and PUT to a path of our own ─► the HTTP server, by emit('connection') with the bytes put back
 *   anything else ─► closed. SHOUTcast v1 passwords will have their place here.
 *
 * Owns each socket until it is handed on. Sockets are half-open here: whoever takes one answers its 'end'.
 */

import type { Server as HttpServer } from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import type { Pair } from './certificate.js';

export interface FrontOptions {
  readonly host: string;
  readonly port: number;
  /** A connection that has not said what it is by then is closed. */
  readonly headMs: number;
  readonly connections: number;
  /** Undefined: everything here is in the clear. */
  readonly tls?: Pair | undefined;
  readonly http: HttpServer;
  /** Undefined: this address serves no encoders, and answers them as HTTP. */
  readonly encoder: ((socket: net.Socket, first: Buffer) => void) | undefined;
  /** Takes a connection whose first bytes ask for a mount; false: they do not. Undefined: this address serves no streams. */
  readonly listener?: ((socket: net.Socket, first: Buffer) => boolean) | undefined;
  /** Takes a connection whose first bytes ask for a channel's record. Undefined: this address serves no polls, or by HTTP only. */
  readonly poll?: ((socket: net.Socket, first: Buffer) => boolean) | undefined;
}

type Verdict = 'http' | 'encoder' | 'more' | 'unknown';

const ENCODER = ['PUT ', 'SOURCE '];
/** No mount begins like these two paths (contract, opening): there a PUT is a mistake, and told so by HTTP. */
const OURS = ['PUT /metapush/', 'PUT /metadata/'];
const HTTP = ['GET ', 'HEAD ', 'POST ', 'OPTIONS ', 'DELETE ', 'PATCH ', 'TRACE ', 'CONNECT ', ...OURS];
const LONGEST = Math.max(...[...ENCODER, ...HTTP].map((word) => word.length));

/** What a connection's first bytes say. `more`: they could still become a known word. */
export function verdict(first: Buffer): Verdict {
  let at = 0;
  while (at < first.length && (first[at] === 0x0d || first[at] === 0x0a)) at++;
  const word = first.toString('latin1', at, at + LONGEST);
  if (HTTP.some((method) => word.startsWith(method))) return 'http';
  if (OURS.some((start) => start.startsWith(word)) && word.length > 0) return 'more';
  if (ENCODER.some((method) => word.startsWith(method))) return 'encoder';
  return [...ENCODER, ...HTTP].some((method) => method.startsWith(word)) && at < 16 ? 'more' : 'unknown';
}

export class Front {
  readonly #options: FrontOptions;
  readonly #server: net.Server | tls.Server;
  /** Connections that have not said yet what they are. */
  readonly #undecided = new Set<net.Socket>();
  /** Connections whose TLS handshake is not over, by the peer's address. */
  readonly #handshaking = new Map<string, net.Socket>();

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#server = options.tls === undefined ? this.#bareServer() : this.#tlsServer(options.tls);
    this.#server.maxConnections = options.connections;
  }

  /** Resolves with the port that was given (the configured one may be 0). Rejects when it cannot listen. */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host: this.#options.host, port: this.#options.port, backlog: 4096 }, () => {
        this.#server.off('error', reject);
        // The HTTP server never listens itself, but arms its head and request time-outs on this event.
        this.#options.http.emit('listening');
        resolve((this.#server.address() as net.AddressInfo).port);
      });
    });
  }

  /** Takes no more connections; those handed on live on with their owners. Resolves when the last of them has ended. */
  close(): Promise<void> {
    for (const socket of [...this.#undecided, ...this.#handshaking.values()]) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** Connections from now on are made with this certificate; those that are open keep theirs. Only where TLS is spoken. */
  renew(pair: Pair): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(pair);
  }

  #bareServer(): net.Server {
    return net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
  }

  #tlsServer(pair: Pair): tls.Server {
    const options = { ...pair, allowHalfOpen: true, noDelay: true, handshakeTimeout: this.#options.headMs };
    const server = tls.createServer({ ...options, ALPNProtocols: ['http/1.1'] });
    server.on('connection', (socket: net.Socket) => {
      const peer = peerOf(socket);
      this.#handshaking.set(peer, socket);
      socket.on('close', () => this.#handshaking.delete(peer));
    });
    server.on('secureConnection', (socket) => {
      this.#handshaking.delete(peerOf(socket));
      this.#accept(socket);
    });
    server.on('tlsClientError', (_, socket) => socket.destroy());
    return server;
  }

  #accept(socket: net.Socket): void {
    let seen: Buffer | null = null;
    this.#undecided.add(socket);
    const done = () => {
      this.#undecided.delete(socket);
      clearTimeout(deadline);
      socket.off('data', look);
      socket.off('end', drop);
      socket.off('error', drop);
      socket.off('close', done);
    };
    const drop = () => {
      done();
      socket.on('error', () => undefined).destroy();
    };
    const look = (chunk: Buffer) => {
      const first: Buffer = seen === null ? chunk : Buffer.concat([seen, chunk]);
      const said = verdict(first);
      if (said === 'more') {
        seen = first;
        return;
      }
      if (said === 'unknown') return drop();
      done();
      socket.pause();
      this.#handOn(socket, said, first);
    };
    // A deadline: the socket's own time-out begins anew with every byte that trickles in.
    const deadline = setTimeout(drop, this.#options.headMs);
    socket.on('data', look);
    socket.on('end', drop);
    socket.on('error', drop);
    socket.on('close', done);
  }

  #handOn(socket: net.Socket, said: 'http' | 'encoder', first: Buffer): void {
    if (said === 'encoder' && this.#options.encoder !== undefined) {
      this.#options.encoder(socket, first);
      return;
    }
    if (this.#options.listener?.(socket, first) || this.#options.poll?.(socket, first)) return;
    socket.unshift(first);
    this.#options.http.emit('connection', socket);
    socket.resume();
  }
}

function peerOf(socket: net.Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}
