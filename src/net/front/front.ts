/**
 * The front of one address: a bare `net` server that looks at the first bytes of a connection (what a proxy or TLS puts before them is
 * taken off by the opening) and hands it on.
 *
 *   PUT, SOURCE  ─► onEncoder (their headers are no HTTP that Node's parser takes: src/http/ingest/README.md, "What encoders send")
 *   GET of a mount ─► onListener (no HTTP objects stay behind in a crowd of listeners)
 *   GET of a channel's record ─► onPoll (no HTTP objects at all, as long as nothing else is asked)
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
import { verdict } from './first-bytes.js';
import { Opening, type OpeningOptions, PROXIED } from './opening.js';
import { addressOf } from './peer.js';
import { refuse } from './refuse.js';

/** Of connections that were not accepted yet: more than come in a second. The system may allow fewer (Linux: net.core.somaxconn, 4,096). */
const BACKLOG = 16_384;

export interface FrontOptions extends OpeningOptions {
  readonly watchdog: Watchdog;
  readonly host: string;
  readonly port: number;
  /** A connection that has not said what it is by then is closed. */
  readonly headMs: number;
  readonly http: HttpServer;
  /** Undefined: this address serves no encoders, and answers them as HTTP. */
  readonly onEncoder?: ((socket: net.Socket, first: Buffer) => void) | undefined;
  /** Takes a connection with an encoder's title. Undefined: it is HTTP like any other. */
  readonly onTitleUpdate?: ((socket: net.Socket, first: Buffer) => void) | undefined;
  /** Takes a connection whose first line may be a password. Undefined: it is closed. */
  readonly onShoutcast?: ((socket: net.Socket, first: Buffer) => void) | undefined;
  /** Takes a connection whose first bytes ask for a mount; false: they do not. Undefined: this address serves no streams. */
  readonly onListener?: ((socket: net.Socket, first: Buffer) => boolean) | undefined;
  /** Takes a connection whose first bytes ask for a channel's record. Undefined: this address serves no polls, or by HTTP only. */
  readonly onPoll?: ((socket: net.Socket, first: Buffer) => boolean) | undefined;
}

export class Front {
  readonly #options: FrontOptions;
  /** Null: another front has taken it over. */
  #server: net.Server | null;
  /** Whose server this one has: those that had not handed on all connections when it took over. */
  #before: readonly Front[] = [];
  #port = 0;
  readonly #opening: Opening;
  /** Connections that have not said yet what they are. */
  readonly #undecided = new Set<net.Socket>();

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#opening = new Opening(options, (socket) => this.#accept(socket));
    this.#server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#enter(socket));
  }

  /** That it was given; 0: it does not listen. */
  get port(): number {
    return this.#port;
  }

  get #isDeciding(): boolean {
    return this.#undecided.size > 0 || this.#opening.isBusy;
  }

  get isListening(): boolean {
    return this.#server?.listening === true;
  }

  /** Listens where the other one does, and takes what comes there from now on. What that one has not handed on yet, it still does. */
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

  /** Resolves with the port that was given (the configured one may be 0). Rejects when it cannot listen. */
  listen(): Promise<number> {
    const server = this.#server!;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: this.#options.host, port: this.#options.port, backlog: BACKLOG }, () => {
        server.off('error', reject);
        // Of an accept: libuv keeps a descriptor to turn newcomers away with, unless even that one could not be had.
        server.on('error', () => this.#options.connections.outOfFiles());
        // The HTTP server never listens itself, but arms its head and request time-outs on this event.
        this.#options.http.emit('listening');
        this.#port = (server.address() as net.AddressInfo).port;
        resolve(this.#port);
      });
    });
  }

  /** Takes a connection as it was accepted, half-open; it is the front's until it is handed on. */
  take(socket: net.Socket): void {
    this.#opening.take(socket);
  }

  /** Takes no more connections; those handed on live on with their owners. Resolves when the last of them has ended. */
  close(): Promise<void> {
    this.#opening.close();
    for (const socket of this.#undecided) socket.destroy();
    for (const front of this.#before) void front.close();
    return this.drain();
  }

  /** Takes no more connections, but decides those that were accepted. Resolves when the last of all has ended. `close` may follow. */
  drain(): Promise<void> {
    const server = this.#server;
    return server === null ? Promise.resolve() : new Promise((resolve) => server.close(() => resolve()));
  }

  /** Connections from now on are made with this certificate; those that are open keep theirs. Only where TLS is spoken. */
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
    // A deadline: the socket's own time-out begins anew with every byte that trickles in.
    const deadline = setTimeout(drop, this.#options.headMs);
    socket.on('data', look);
    socket.on('end', drop);
    socket.on('error', drop);
    socket.on('close', done);
  }

  /** For the operator who set up the proxy; the log has it too. It does not count as a wrong password. */
  #refuseProxied(socket: net.Socket): void {
    this.#options.connections.fault(socket, PROXIED);
    const body = `${PROXIED}\n`;
    const head = `Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close`;
    refuse(socket, `HTTP/1.1 400 Bad Request\r\n${head}\r\n\r\n${body}`);
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
