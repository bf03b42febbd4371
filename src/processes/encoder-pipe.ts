/**
 * Encoders over TLS: a TLS session cannot move to another process, so the worker decrypts their bytes and forwards them to the hub over a local
 * socket. When either side closes, both are closed.
 *
 *   encoder ══TLS══► worker ──│ greeting (link/wire/link-version.ts) │ length of the head, 4 │ head (metadata/codec.ts) │ bytes … ──► hub
 */

import type { Socket } from 'node:net';
import type { ProvenEncoder } from '../http/ingest/proven.js';
import { GreetingReader, greeting, LINK_VERSION } from '../link/wire/link-version.js';
import { encode } from '../metadata/codec.js';
import { detach } from '../net/front/handover.js';
import { HeadReader } from '../net/front/head-reader.js';
import { readEncoder } from './encoder-schema.js';
import { connectToHub } from './hub-socket.js';
import type { SocketLetter } from './messages.js';

/** Larger than any accepted head (limits.headBytes) once encoded. */
const MAX_HEAD_BYTES = 4 * 1024 * 1024;
/** How long the greeting and the head may take to arrive; a worker sends them in one write. */
export const HEAD_MS = 5000;

/** Forwards an encoder's connection, whose socket is paused. @param path the hub's local socket */
export function pipeEncoder({ socket, ...encoder }: ProvenEncoder, path: string): void {
  const pipe = connectToHub(path, 'encoder');
  const end = () => {
    pipe.destroy();
    socket.destroy();
  };
  const head = Buffer.from(encode(encoder));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  pipe.write(Buffer.concat([greeting(), length, head]));
  for (const each of [pipe, socket]) each.on('error', end).on('close', end);
  socket.pipe(pipe);
  pipe.pipe(socket);
}

/** The hub's end: accepts the encoders that workers forward. */
export class EncoderPipes {
  readonly #onEncoder: (encoder: ProvenEncoder) => void;
  readonly #onError: (error: unknown) => void;
  readonly #heads = new HeadReader({ headBytes: MAX_HEAD_BYTES, headLines: 1, headMs: HEAD_MS });

  /** @param onError called with the reason if a worker's message is invalid */
  constructor(onEncoder: (encoder: ProvenEncoder) => void, onError: (error: unknown) => void) {
    this.#onEncoder = onEncoder;
    this.#onError = onError;
  }

  /** Ends those whose head has not arrived. */
  close(): void {
    this.#heads.close();
  }

  /** Takes a worker's connection, from its greeting on. */
  take(socket: Socket): void {
    this.#heads.readWith(new PipedHead(), socket, Buffer.alloc(0), (head) => {
      if (head === 'drop') return void socket.destroy();
      try {
        const { value, bad } = head;
        if (bad !== null) throw new Error(`a worker passed on a connection that is not an encoder's: ${bad}`);
        this.#onEncoder({ ...value, socket });
      } catch (error) {
        // An invalid message from a worker must not end the hub.
        this.#onError(error);
        socket.on('error', () => undefined).destroy();
      }
    });
  }
}

/** Reads the greeting and the head. `drop`: it is too long, or a worker of another version sends it, whose encoder connects again. */
class PipedHead {
  readonly #greetings = new GreetingReader();
  #seen: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): ReturnType<typeof readEncoder> | 'drop' | 'more' {
    try {
      this.#seen = Buffer.concat([this.#seen, chunk.subarray(this.#greetings.take(chunk))]);
    } catch {
      return 'drop';
    }
    if (this.#seen.length < 4) return 'more';
    const end = 4 + this.#seen.readUInt32LE(0);
    if (end > MAX_HEAD_BYTES) return 'drop';
    if (this.#seen.length < end) return 'more';
    return readEncoder({ text: this.#seen.toString('utf8', 4, end), ahead: this.#seen.toString('base64', end) });
  }
}

/** Returns the message that takes an encoder to the hub. Its socket must be sent in the same turn of the event loop. */
export function letterOf({ socket, ...encoder }: ProvenEncoder): SocketLetter {
  const ahead = detach(socket).toString('base64');
  return { type: 'encoder', text: encode(encoder), ahead, version: LINK_VERSION };
}
