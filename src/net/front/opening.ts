/**
 * Opens a connection as its address requires: the header of a TCP proxy (proxy-protocol.ts), then TLS, for all connections or, on a
 * shared port, for those that begin with a TLS handshake. The bytes after that go to the front unchanged.
 *
 *   accepted ─► PROXY header? ─► whole ClientHello ─► its turn, handshake ─► ready        each step has headMs, as a deadline
 *                               └ sharePort: no TLS ─► ready
 *
 * Owns each socket until it is ready. Each step has a deadline, since a socket's own time-out would restart with every byte. Only a few
 * handshakes are begun in a turn of the loop (handshakes.ts).
 */

import type net from 'node:net';
import tls from 'node:tls';
import { originOf } from '../../base/ip.js';
import type { Pair } from '../tls/certificate.js';
import { HANDSHAKE, readClientHello } from '../tls/client-hello.js';
import { TlsHandshake, type TlsHandshakes } from '../tls/handshakes.js';
import { limitClientKeys } from '../tls/key-updates.js';
import type { TicketKeysInForce } from '../tls/session-tickets.js';
import { resumableOptions } from '../tls/tls-options.js';
import { addressOf, type Proxies, setClient } from './client-address.js';
import type { Connections } from './connections.js';
import { beginsProxied, readProxyHeader } from './proxy-protocol.js';
import { refuseWords } from './refuse.js';

export interface TlsOptions {
  /** Null: there is none yet, and handshakes are refused until `renew`. */
  readonly pair: Pair | null;
  /** Accepts connections without TLS too. */
  readonly sharePort: boolean;
  /** The longest ClientHello. */
  readonly clientHelloBytes: number;
  /** Shared by all addresses. */
  readonly handshakes: TlsHandshakes;
  /** Likewise. */
  readonly tickets: Pick<TicketKeysInForce, 'bytes'>;
}

export interface OpeningOptions {
  readonly headMs: number;
  /** Has each connection already; learns the address in a PROXY header. */
  readonly connections: Connections;
  /** All connections here must come from these peers and begin with a PROXY header, at most this long. Undefined: none may. */
  readonly proxied?: { readonly by: Proxies; readonly headBytes: number } | undefined;
  /** Undefined: no TLS here. */
  readonly tls?: TlsOptions | undefined;
}

/** The beginning of a request, of the methods that people and programs try first. */
const REQUEST = /^(GET|HEAD|POST|PUT|OPTIONS|SOURCE) \//;
const REQUEST_BYTES = 16;
const UNPROXIED = 'no PROXY header, which this address must have (proxyProtocol)';
export const PROXIED = 'a PROXY header, which this address does not read (proxyProtocol)';

/** The next step, or: more bytes are needed, or the connection is to be dropped. */
type NextStep = (() => void) | 'more' | 'wrong';

/** The server never listens: connections are emitted to it. */
interface TlsStep extends TlsOptions {
  readonly server: tls.Server;
  /** The server's ticket keys; null: random ones of its own. */
  ticketKeys: Buffer | null;
}

export class Opening {
  readonly #options: OpeningOptions;
  readonly #onReady: (socket: net.Socket) => void;
  /** Null: no TLS here. */
  readonly #tls: TlsStep | null;
  /** Connections that are not ready → how to drop them. */
  readonly #drops = new Map<net.Socket, () => void>();
  /** TLS handshakes under way by the kernel's peer address, with the end of their step. */
  readonly #handshaking = new Map<string, { readonly bare: net.Socket; readonly endStep: () => void }>();

  /** @param onReady takes the connection; bytes read ahead have been put back */
  constructor(options: OpeningOptions, onReady: (socket: net.Socket) => void) {
    this.#options = options;
    this.#onReady = onReady;
    this.#tls = options.tls === undefined ? null : this.#tlsStep(options.tls);
  }

  /** Whether any connection is not ready. */
  get isBusy(): boolean {
    return this.#drops.size > 0 || this.#handshaking.size > 0;
  }

  /** Takes an accepted connection. */
  take(socket: net.Socket): void {
    const { proxied } = this.#options;
    if (proxied === undefined) this.#secure(socket);
    else if (!proxied.by.isTrusted(socket.remoteAddress)) {
      this.#options.connections.fault(
        socket,
        'not one of proxies.trusted, the only clients allowed on this address (proxyProtocol)',
      );
      socket.on('error', () => undefined).destroy();
    } else {
      this.#read(socket, (bytes) => {
        const header = readProxyHeader(bytes, proxied.headBytes);
        if (header === 'wrong') {
          this.#options.connections.fault(socket, UNPROXIED);
          // Probably a person at this machine, who took this for a port of listeners.
          if (REQUEST.test(bytes.toString('latin1', 0, REQUEST_BYTES))) return () => refuseWords(socket, UNPROXIED);
        }
        if (typeof header === 'string') return header;
        return () => {
          if (header.address !== null) {
            setClient(socket, header.address);
            if (!this.#options.connections.setClient(socket, header.address)) return;
          }
          unread(socket, header.rest);
          this.#secure(socket);
        };
      });
    }
  }

  /** Uses this certificate for new connections. */
  renew(pair: Pair): void {
    const step = this.#tls;
    if (step === null) return;
    step.ticketKeys = step.tickets.bytes;
    step.server.setSecureContext(resumableOptions(pair, step.ticketKeys));
  }

  /** Closes all connections that are not ready. */
  close(): void {
    for (const drop of [...this.#drops.values()]) drop();
  }

  #secure(socket: net.Socket): void {
    const step = this.#tls;
    if (step === null) {
      this.#ready(socket);
      return;
    }
    this.#read(socket, (bytes) => {
      if (step.sharePort && bytes[0] !== HANDSHAKE) {
        return () => {
          unread(socket, bytes);
          this.#ready(socket);
        };
      }
      const hello = readClientHello(bytes, step.clientHelloBytes);
      if (hello === 'wrong' && beginsProxied(bytes) === true) this.#options.connections.fault(socket, PROXIED);
      if (hello !== 'whole') return hello;
      return () => {
        unread(socket, bytes);
        this.#handshake(socket, step);
      };
    });
  }

  /** Collects bytes until `judge` knows the next step, then pauses the connection. */
  #read(socket: net.Socket, judge: (bytes: Buffer) => NextStep): void {
    let seen: Buffer | null = null;
    const look = (chunk: Buffer) => {
      seen = seen === null ? chunk : Buffer.concat([seen, chunk]);
      const next = judge(seen);
      if (next === 'more') return;
      if (next === 'wrong') return drop();
      endStep();
      socket.pause();
      next();
    };
    const drop = () => this.#drops.get(socket)?.();
    const endStep = this.#beginStep(socket, () => socket.off('data', look).off('end', drop));
    // A previous step leaves it paused.
    socket.on('data', look).on('end', drop).resume();
  }

  #handshake(socket: net.Socket, step: TlsStep): void {
    const { server, handshakes, tickets } = step;
    const peer = peerOf(socket);
    const onTurn = () => {
      if (socket.destroyed) return;
      // The TLS socket inherits this: a client that ends its side within the handshake has gone, and must not occupy a slot.
      socket.allowHalfOpen = false;
      if (tickets.bytes !== null && tickets.bytes !== step.ticketKeys) {
        step.ticketKeys = tickets.bytes;
        server.setTicketKeys(tickets.bytes);
      }
      server.emit('connection', socket);
    };
    const handshake = new TlsHandshake(originOf(addressOf(socket)), onTurn, () => this.#drops.get(socket)?.());
    const endStep = this.#beginStep(socket, () => {
      handshakes.done(handshake);
      // A port may be reused before its previous connection is known to be closed.
      if (this.#handshaking.get(peer)?.bare === socket) this.#handshaking.delete(peer);
    });
    this.#handshaking.set(peer, { bare: socket, endStep });
    handshakes.add(handshake);
  }

  #tlsStep(options: TlsOptions): TlsStep {
    const { pair, handshakes, tickets } = options;
    const ticketKeys = tickets.bytes;
    const connection = { allowHalfOpen: true, noDelay: true, ALPNProtocols: ['http/1.1'] };
    const server = tls.createServer({ ...resumableOptions(pair, ticketKeys), ...connection });
    server.on('secureConnection', (socket) => {
      const known = this.#handshaking.get(peerOf(socket));
      if (known === undefined) return void socket.destroy();
      known.endStep();
      socket.allowHalfOpen = true;
      handshakes.finished(socket.isSessionReused());
      setClient(socket, addressOf(known.bare));
      this.#options.connections.setSecure(known.bare, socket);
      this.#ready(socket);
    });
    server.on('tlsClientError', (_, socket) => socket.destroy());
    limitClientKeys(server, (socket) => this.#options.connections.fault(socket, 'too many key updates'));
    return { ...options, server, ticketKeys };
  }

  /** A step may have left it paused. */
  #ready(socket: net.Socket): void {
    this.#onReady(socket);
    socket.resume();
  }

  /** Begins a step with a deadline, which ends as well when the connection fails. @returns ends the step */
  #beginStep(socket: net.Socket, onOver: () => void): () => void {
    const end = () => {
      clearTimeout(deadline);
      this.#drops.delete(socket);
      socket.off('error', drop).off('close', end);
      onOver();
    };
    const drop = () => {
      end();
      socket.on('error', () => undefined).destroy();
    };
    const deadline = setTimeout(drop, this.#options.headMs);
    this.#drops.set(socket, drop);
    socket.on('error', drop).on('close', end);
    return end;
  }
}

/** Puts bytes back: the next reader gets them once the connection is resumed. */
function unread(socket: net.Socket, bytes: Buffer): void {
  if (bytes.length > 0) socket.unshift(bytes);
}

/** Identifies a connection: the same for its bare and its TLS socket. */
function peerOf(socket: net.Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}
