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
  readonly #reading = new Set<Socket>();

  /** @param onError called with the reason if a worker's message is invalid */
  constructor(onEncoder: (encoder: ProvenEncoder) => void, onError: (error: unknown) => void) {
    this.#onEncoder = onEncoder;
    this.#onError = onError;
  }

  /** Ends those whose head has not arrived. */
  close(): void {
    for (const socket of this.#reading) socket.destroy();
  }

  /** Takes a worker's connection, from its greeting on. */
  take(socket: Socket): void {
    const greetings = new GreetingReader();
    let seen: Buffer = Buffer.alloc(0);
    this.#reading.add(socket);
    const stop = () => {
      clearTimeout(deadline);
      this.#reading.delete(socket);
      socket.off('data', read).off('error', drop).off('end', drop).off('close', drop);
    };
    const drop = () => {
      stop();
      socket.on('error', () => undefined).destroy();
    };
    const read = (chunk: Buffer) => {
      try {
        seen = Buffer.concat([seen, chunk.subarray(greetings.take(chunk))]);
      } catch {
        // A worker of another version: its encoder connects again.
        return drop();
      }
      if (seen.length < 4) return;
      const length = seen.readUInt32LE(0);
      if (length > MAX_HEAD_BYTES) return drop();
      if (seen.length < 4 + length) return;
      try {
        const text = seen.toString('utf8', 4, 4 + length);
        const { value, bad } = readEncoder({ text, ahead: seen.toString('base64', 4 + length) });
        if (bad !== null) throw new Error(`a worker passed on something that is not an encoder: ${bad}`);
        stop();
        socket.pause();
        this.#onEncoder({ ...value, socket });
      } catch (error) {
        // An invalid message from a worker must not end the hub.
        this.#onError(error);
        drop();
      }
    };
    const deadline = setTimeout(drop, HEAD_MS);
    socket.on('data', read).on('error', drop).on('end', drop).on('close', drop);
  }
}

/** Returns the message that takes an encoder to the hub. Its socket must be sent in the same turn of the event loop. */
export function letterOf({ socket, ...encoder }: ProvenEncoder): SocketLetter {
  const ahead = detach(socket).toString('base64');
  return { type: 'encoder', text: encode(encoder), ahead, version: LINK_VERSION };
}
