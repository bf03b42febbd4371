/**
 * The hub's local socket, for all that other processes bring it. A worker's link begins with its greeting (link/wire/link-version.ts), anything
 * else with a letter before that:
 *
 *   │ greeting │ …   a link          │ t │ greeting │ …   tapes          │ e │ greeting │ …   an encoder over TLS
 */

import net, { type Server, type Socket } from 'node:net';
import { listen } from './listen.js';

export type SocketKind = 'link' | 'tapes' | 'encoder';

const LETTERS: Readonly<Record<SocketKind, string>> = { link: '', tapes: 't', encoder: 'e' };
/** How long the first byte may take to arrive; it is written when the socket connects. */
const FIRST_BYTE_MS = 5000;

/** Connects to the hub's local socket, as this kind. */
export function connectToHub(path: string, kind: SocketKind): Socket {
  const socket = net.connect(path);
  if (LETTERS[kind] !== '') socket.write(LETTERS[kind]);
  return socket;
}

type Taker = (socket: Socket) => void;

export class HubSocket {
  readonly #server: Server;
  /** Absent: they wait for one. Null: they are refused. */
  readonly #takers = new Map<SocketKind, Taker | null>();
  /** Those whose kind is not known yet, or that wait for a taker. */
  readonly #waiting = new Map<Socket, SocketKind | null>();

  constructor() {
    this.#server = net.createServer({ allowHalfOpen: true }, (socket) => this.#read(socket));
  }

  /** Resolves when the hub listens; rejects if the path is too long or cannot be used. */
  listen(path: string): Promise<void> {
    return listen(this.#server, path);
  }

  /** Passes on all sockets of the kind, those that wait too. @param taker null: they are refused from now on */
  take(kind: SocketKind, taker: Taker | null): void {
    this.#takers.set(kind, taker);
    for (const [socket, known] of this.#waiting) if (known === kind) this.#passOn(socket, kind);
  }

  /** Accepts no more, and ends those that still wait. */
  close(): void {
    this.#server.close();
    for (const socket of this.#waiting.keys()) socket.destroy();
  }

  #read(socket: Socket): void {
    this.#waiting.set(socket, null);
    const deadline = setTimeout(() => socket.destroy(), FIRST_BYTE_MS);
    const ignore = () => undefined;
    const onReadable = () => {
      const first: Buffer | null = socket.read(1);
      if (first === null) return;
      clearTimeout(deadline);
      socket.off('readable', onReadable).off('end', onEnd).off('error', ignore);
      this.#passOn(socket, this.#kindOf(socket, first));
    };
    const onEnd = () => socket.destroy();
    socket.on('readable', onReadable).on('end', onEnd).on('error', ignore);
    socket.once('close', () => {
      clearTimeout(deadline);
      this.#waiting.delete(socket);
    });
  }

  #kindOf(socket: Socket, first: Buffer): SocketKind {
    const letter = first.toString('latin1');
    if (letter === LETTERS.tapes) return 'tapes';
    if (letter === LETTERS.encoder) return 'encoder';
    // A link, or something that its greeting refuses.
    socket.unshift(first);
    return 'link';
  }

  #passOn(socket: Socket, kind: SocketKind): void {
    const taker = this.#takers.get(kind);
    if (taker === undefined) {
      this.#waiting.set(socket, kind);
      return;
    }
    this.#waiting.delete(socket);
    // Encoders end their sending and still read.
    socket.allowHalfOpen = kind === 'encoder';
    if (taker === null) socket.destroy();
    else taker(socket);
  }
}
