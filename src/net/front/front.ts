/**
 * The front of one address: a `net` server that looks at the first bytes of a connection, after PROXY header and TLS (opening.ts),
 * and hands it on.
 *
 *   PUT, SOURCE  ─► onEncoder (Node's parser refuses their headers: src/http/ingest/README.md, "What encoders send")
 *   GET of a mount ─► onListener (saves the HTTP objects of each listener)
 *   GET of a channel's record ─► onPoll (saves them for each poll)
 *   GET, POST of an encoder's title ─► onTitleUpdate, which makes HTTP of it
 *   a method of HTTP's, and PUT to a path of our own ─► the HTTP server, by emit('connection') with the bytes put back
 *   any other text ─► onShoutcast: its first line may be a password
 *   a PROXY header that is not read here ─► 400 with that reason
 *   anything else ─► closed
 *
 * Owns each socket until it is handed on. Sockets are half-open here: their next owner answers 'end'.
 */

import type { Server as HttpServer } from 'node:http';
import net from 'node:net';
import type { Watchdog } from '../../base/watchdog.js';
import type { Pair } from '../tls/certificate.js';
import { addressOf } from './client-address.js';
import { verdict } from './first-bytes.js';
import { Opening, type OpeningOptions, PROXIED } from './opening.js';
import { refuseWords } from './refuse.js';

/** More connections than arrive in a second. The system may allow fewer (Linux: net.core.somaxconn, 4,096). */
const BACKLOG = 16_384;

export interface FrontOptions extends OpeningOptions {
  readonly watchdog: Watchdog;
  readonly host: string;
  readonly port: number;
  /** Deadline for the first bytes; the connection is closed then. */
  readonly headMs: number;
  readonly http: HttpServer;
  /** Undefined: this address serves no encoders, and answers them as HTTP. */
  readonly onEncoder?: ((socket: net.Socket, first: Buffer) => void) | undefined;
  /** Takes a connection with an encoder's title. Undefined: the HTTP server does. */
  readonly onTitleUpdate?: ((socket: net.Socket, first: Buffer) => void) | undefined;
  /** Takes a connection whose first line may be a password. Undefined: it is closed. */
  readonly onShoutcast?: ((socket: net.Socket, first: Buffer) => void) | undefined;
  /** Takes a connection whose first bytes ask for a mount; false: they do not. Undefined: this address serves no streams. */
  readonly onListener?: ((socket: net.Socket, first: Buffer) => boolean) | undefined;
  /** Takes a connection whose first bytes ask for a channel's record; false: they do not. Undefined: no polls here, or by HTTP only. */
  readonly onPoll?: ((socket: net.Socket, first: Buffer) => boolean) | undefined;
}

export class Front {
  readonly #options: FrontOptions;
  /** Null: another front has taken over. */
  #server: net.Server | null;
  /** Previous fronts of this server that still have connections to hand on. */
  #before: readonly Front[] = [];
  #port = 0;
  readonly #opening: Opening;
  /** Connections whose kind is not known yet. */
  readonly #undecided = new Set<net.Socket>();

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#opening = new Opening(options, (socket) => this.#accept(socket));
    this.#server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#enter(socket));
  }

  /** The port it listens at; 0: it does not listen. */
  get port(): number {
    return this.#port;
  }

  get #isDeciding(): boolean {
    return this.#undecided.size > 0 || this.#opening.isBusy;
  }

  get isListening(): boolean {
    return this.#server?.listening === true;
  }

  /** Takes over the other front's server and new connections. The other one still hands on connections that it has accepted. */
  takeOver(before: Front): void {
    const server = before.#server!;
    server.removeAllListeners('connection').on('connection', (socket) => this.#enter(socket));
    server.removeAllListeners('error').on('error', () => this.#options.connections.outOfFiles());
    this.#options.http.emit('listening');
    this.#server = server;
    this.#port = before.#port;
    this.#before = [before, ...before.#before].filter((front) => front.#isDeciding);
    before.#before = [];
    before.#server = null;
  }

  #enter(socket: net.Socket): void {
    const { connections, proxied } = this.#options;
    if (connections.enter(socket, proxied === undefined ? (socket.remoteAddress ?? '') : null)) this.take(socket);
  }

  /** Resolves with the actual port (the configured one may be 0). Rejects if it cannot listen. */
  listen(): Promise<number> {
    const server = this.#server!;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: this.#options.host, port: this.#options.port, backlog: BACKLOG }, () => {
        server.off('error', reject);
        // An accept failed: libuv refuses connections with a spare descriptor, unless it could not open even that.
        server.on('error', () => this.#options.connections.outOfFiles());
        // The HTTP server never listens itself, but starts its time-outs on this event.
        this.#options.http.emit('listening');
        this.#port = (server.address() as net.AddressInfo).port;
        resolve(this.#port);
      });
    });
  }

  /** Takes an accepted connection, half-open, and owns it until it is handed on. */
  take(socket: net.Socket): void {
    this.#opening.take(socket);
  }

  /** Accepts no more connections and closes those not handed on. Resolves when the last of the others has ended. */
  close(): Promise<void> {
    this.#opening.close();
    for (const socket of this.#undecided) socket.destroy();
    for (const front of this.#before) void front.close();
    return this.drain();
  }

  /** Accepts no more connections, but hands on those accepted. Resolves when the last has ended. `close` may follow. */
  drain(): Promise<void> {
    const server = this.#server;
    return server === null ? Promise.resolve() : new Promise((resolve) => server.close(() => resolve()));
  }

  /** Uses this certificate for new connections. */
  renew(pair: Pair): void {
    this.#opening.renew(pair);
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
      this.#options.connections.speak(socket);
      const first: Buffer = seen === null ? chunk : Buffer.concat([seen, chunk]);
      const kind = verdict(first);
      if (kind === 'more') {
        seen = first;
        return;
      }
      if (kind === 'unknown' || (kind === 'shoutcast' && this.#options.onShoutcast === undefined)) return drop();
      done();
      if (kind === 'proxied') return this.#refuseProxied(socket);
      socket.pause();
      const { watchdog } = this.#options;
      const startMs = watchdog.begin();
      if (kind === 'shoutcast') this.#options.onShoutcast?.(socket, first);
      else this.#handOn(socket, kind, first);
      if (watchdog.end('connection', startMs)) watchdog.blame(addressOf(socket));
    };
    // The socket's own time-out would restart with every byte.
    const deadline = setTimeout(drop, this.#options.headMs);
    socket.on('data', look);
    socket.on('end', drop);
    socket.on('error', drop);
    socket.on('close', done);
  }

  /** Answers the operator who set up the proxy. Does not count as a wrong password. */
  #refuseProxied(socket: net.Socket): void {
    this.#options.connections.fault(socket, PROXIED);
    refuseWords(socket, PROXIED);
  }

  #handOn(socket: net.Socket, kind: 'http' | 'encoder' | 'title', first: Buffer): void {
    const { onEncoder, onTitleUpdate } = this.#options;
    const take = kind === 'encoder' ? onEncoder : kind === 'title' ? onTitleUpdate : undefined;
    if (take !== undefined) {
      take(socket, first);
      return;
    }
    if (this.#options.onListener?.(socket, first) || this.#options.onPoll?.(socket, first)) return;
    socket.unshift(first);
    this.#options.http.emit('connection', socket);
    socket.resume();
  }
}
