/**
 * What comes before the first bytes of a connection, where its address has it: the header of a TCP proxy (proxy-protocol.ts), then TLS,
 * either for everything or, on a shared port, for what begins like a TLS handshake. What is behind goes to the front as it came.
 *
 *   accepted ─► PROXY header? ─► whole ClientHello ─► its turn, handshake ─► ready        each step has headMs, as a deadline
 *                               └ sharePort: no TLS ─► ready
 *
 * Owns each socket until it is ready. One deadline a step: a socket's own time-out begins anew with every byte that trickles in. Handshakes
 * that hundreds ask for at once are begun a few a turn of the loop (handshakes.ts).
 */

import type net from 'node:net';
import tls from 'node:tls';
import { originOf } from '../../base/ip.js';
import type { Pair } from '../tls/certificate.js';
import { HANDSHAKE, readClientHello } from '../tls/client-hello.js';
import { TlsHandshake, type TlsHandshakes } from '../tls/handshakes.js';
import { limitClientKeys } from '../tls/key-updates.js';
import { tlsOptions } from '../tls/tls-options.js';
import type { Connections } from './connections.js';
import { addressOf, comesFrom, type Proxies } from './peer.js';
import { beginsProxied, readProxyHeader } from './proxy-protocol.js';

export interface TlsOptions {
  readonly pair: Pair;
  /** Beside TLS the clear is spoken here too. */
  readonly sharePort: boolean;
  /** The most that a client's first message may have. */
  readonly clientHelloBytes: number;
  /** Of all addresses. */
  readonly handshakes: TlsHandshakes;
}

export interface OpeningOptions {
  readonly headMs: number;
  /** In which each connection is entered already; gets its address from a PROXY header. */
  readonly connections: Connections;
  /** Peers that must, and alone may, begin with a PROXY header here, and how long it may be. Undefined: none may. */
  readonly proxied?: { readonly by: Proxies; readonly headBytes: number } | undefined;
  /** Undefined: everything here is in the clear. */
  readonly tls?: TlsOptions | undefined;
}

export const PROXIED = 'a PROXY header, which this address does not read (proxyProtocol)';

/** What the bytes so far ask for: the next step, more bytes, or to give up. */
type NextStep = (() => void) | 'more' | 'wrong';

/** The rules of an address with TLS, and the server that never listens: it is handed the connections. */
interface TlsStep extends TlsOptions {
  readonly server: tls.Server;
}

export class Opening {
  readonly #options: OpeningOptions;
  readonly #onReady: (socket: net.Socket) => void;
  /** Null: everything here is in the clear. */
  readonly #tls: TlsStep | null;
  /** Connections that are not ready, with how to give them up. */
  readonly #drops = new Map<net.Socket, () => void>();
  /** Those whose TLS handshake is not over, by the peer that the kernel knows; with what ends the step. */
  readonly #handshaking = new Map<string, { readonly bare: net.Socket; readonly endStep: () => void }>();

  /** @param onReady takes the connection; what was read of it already has been put back */
  constructor(options: OpeningOptions, onReady: (socket: net.Socket) => void) {
    this.#options = options;
    this.#onReady = onReady;
    this.#tls = options.tls === undefined ? null : { ...options.tls, server: this.#tlsServer(options.tls.pair) };
  }

  /** Whether connections are not ready. */
  get isBusy(): boolean {
    return this.#drops.size > 0 || this.#handshaking.size > 0;
  }

  /** Takes a connection as it was accepted. */
  take(socket: net.Socket): void {
    const { proxied } = this.#options;
    if (proxied === undefined) this.#secure(socket);
    else if (!proxied.by.isTrusted(socket.remoteAddress)) {
      this.#options.connections.fault(
        socket,
        'not one of proxies.trusted, which alone may come to this address (proxyProtocol)',
      );
      socket.on('error', () => undefined).destroy();
    } else {
      this.#look(socket, (bytes) => {
        const header = readProxyHeader(bytes, proxied.headBytes);
        if (header === 'wrong') {
          this.#options.connections.fault(socket, 'no PROXY header, which this address must have (proxyProtocol)');
        }
        if (typeof header === 'string') return header;
        return () => {
          if (header.address !== null) {
            comesFrom(socket, header.address);
            if (!this.#options.connections.comesFrom(socket, header.address)) return;
          }
          putBack(socket, header.rest);
          this.#secure(socket);
        };
      });
    }
  }

  /** Connections from now on are made with this certificate; those that are open keep theirs. */
  renew(pair: Pair): void {
    this.#tls?.server.setSecureContext(tlsOptions(pair));
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
    this.#look(socket, (bytes) => {
      if (step.sharePort && bytes[0] !== HANDSHAKE) {
        return () => {
          putBack(socket, bytes);
          this.#ready(socket);
        };
      }
      const hello = readClientHello(bytes, step.clientHelloBytes);
      if (hello === 'wrong' && beginsProxied(bytes) === true) this.#options.connections.fault(socket, PROXIED);
      if (hello !== 'whole') return hello;
      return () => {
        putBack(socket, bytes);
        this.#handshake(socket, step);
      };
    });
  }

  /** Gathers bytes until `judge` knows the next step; the connection is paused then. */
  #look(socket: net.Socket, judge: (bytes: Buffer) => NextStep): void {
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
    // After a step before this one it is paused.
    socket.on('data', look).on('end', drop).resume();
  }

  #handshake(socket: net.Socket, { server, handshakes }: TlsStep): void {
    const peer = peerOf(socket);
    const onTurn = () => {
      if (socket.destroyed) return;
      // The TLS socket inherits this. A client that ends its side within the handshake has gone, and must not keep a place.
      socket.allowHalfOpen = false;
      server.emit('connection', socket);
    };
    const handshake = new TlsHandshake(originOf(addressOf(socket)), onTurn, () => this.#drops.get(socket)?.());
    const endStep = this.#beginStep(socket, () => {
      handshakes.done(handshake);
      // A port may be used again before its last connection is known to be closed.
      if (this.#handshaking.get(peer)?.bare === socket) this.#handshaking.delete(peer);
    });
    this.#handshaking.set(peer, { bare: socket, endStep });
    handshakes.add(handshake);
  }

  #tlsServer(pair: Pair): tls.Server {
    const options = { allowHalfOpen: true, noDelay: true, ALPNProtocols: ['http/1.1'] };
    const server = tls.createServer({ ...tlsOptions(pair), ...options });
    server.on('secureConnection', (socket) => {
      const known = this.#handshaking.get(peerOf(socket));
      if (known === undefined) return void socket.destroy();
      known.endStep();
      socket.allowHalfOpen = true;
      comesFrom(socket, addressOf(known.bare));
      this.#options.connections.continues(known.bare, socket);
      this.#ready(socket);
    });
    server.on('tlsClientError', (_, socket) => socket.destroy());
    limitClientKeys(server, (socket) => this.#options.connections.fault(socket, 'too many key updates'));
    return server;
  }

  /** A step may have left it paused. */
  #ready(socket: net.Socket): void {
    this.#onReady(socket);
    socket.resume();
  }

  /** Gives a step its deadline, and its end to a connection that fails. @returns what ends the step */
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

/** For the next reader, once the connection is resumed. */
function putBack(socket: net.Socket, bytes: Buffer): void {
  if (bytes.length > 0) socket.unshift(bytes);
}

/** The bare and the secure socket of a connection both know it. */
function peerOf(socket: net.Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}
