/**
 * Encoders over TLS: their bytes are decrypted in the worker, since no socket can take its TLS to another process, and go on over a local socket. The
 * connection ends with either end.
 *
 *   encoder ══TLS══► worker ──│ greeting (link/wire/version.ts) │ length of the head, 4 │ head as JSON │ bytes … ──► hub
 */

import net, { type Socket } from 'node:net';
import type { ProvenEncoder } from '../http/ingest/proven.js';
import { GreetingReader, greeting } from '../link/wire/version.js';
import { detach } from '../net/front/handover.js';
import type { RequestHead } from '../net/front/request-head.js';
import { readEncoder } from './encoder-schema.js';
import { listen } from './listen.js';
import type { SentEncoder } from './messages.js';

/** Larger than any head that is taken (limits.headBytes), in JSON and base64. */
const MAX_HEAD_BYTES = 4 * 1024 * 1024;
/** How long the greeting and the head may take to come; a worker sends them in one go. */
export const HEAD_MS = 5000;

/** Passes an encoder's connection on; its socket is paused. @param path where the hub takes it */
export function pipeEncoder({ socket, ...encoder }: ProvenEncoder, path: string): void {
  const pipe = net.connect(path);
  const end = () => {
    pipe.destroy();
    socket.destroy();
  };
  const head = Buffer.from(JSON.stringify(encoder, plain));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  pipe.write(Buffer.concat([greeting(), length, head]));
  for (const each of [pipe, socket]) each.on('error', end).on('close', end);
  socket.pipe(pipe);
  pipe.pipe(socket);
}

/** At the hub: takes them. */
export class EncoderPipeServer {
  readonly #path: string;
  readonly #server: net.Server;
  readonly #reading = new Set<Socket>();

  /** @param onError called with what is wrong with a worker's message */
  constructor(path: string, onEncoder: (encoder: ProvenEncoder) => void, onError: (error: unknown) => void) {
    this.#path = path;
    this.#server = net.createServer({ allowHalfOpen: true }, (socket) => this.#read(socket, onEncoder, onError));
  }

  listen(): Promise<void> {
    return listen(this.#server, this.#path);
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#reading) socket.destroy();
  }

  #read(socket: Socket, onEncoder: (encoder: ProvenEncoder) => void, onError: (error: unknown) => void): void {
    const greetings = new GreetingReader();
    let seen: Buffer = Buffer.alloc(0);
    this.#reading.add(socket);
    const stop = () => {
      clearTimeout(deadline);
      this.#reading.delete(socket);
      socket.off('data', take).off('error', drop).off('end', drop).off('close', drop);
    };
    const drop = () => {
      stop();
      socket.on('error', () => undefined).destroy();
    };
    const take = (chunk: Buffer) => {
      try {
        seen = Buffer.concat([seen, chunk.subarray(greetings.take(chunk))]);
      } catch {
        // of another version: its encoder comes again
        return drop();
      }
      if (seen.length < 4) return;
      const length = seen.readUInt32LE(0);
      if (length > MAX_HEAD_BYTES) return drop();
      if (seen.length < 4 + length) return;
      try {
        const encoder = readEncoder(JSON.parse(seen.toString('utf8', 4, 4 + length), lively));
        if (encoder === null) throw new Error('a worker passed on something that is not an encoder');
        stop();
        socket.pause();
        onEncoder({ ...withRest(encoder, seen.subarray(4 + length)), socket });
      } catch (error) {
        // A bad message of a worker must not end the hub.
        onError(error);
        drop();
      }
    };
    const deadline = setTimeout(drop, HEAD_MS);
    socket.on('data', take).on('error', drop).on('end', drop).on('close', drop);
  }
}

/** Its rest, as plain data, and what came behind it. */
export function withRest<T extends SentEncoder>(encoder: T, more: Buffer): T {
  if (more.length === 0) return encoder;
  if (encoder.kind === 'shoutcast') return { ...encoder, rest: Buffer.concat([encoder.rest, more]) };
  const head: RequestHead = encoder.head;
  return { ...encoder, head: { ...head, rest: Buffer.concat([head.rest, more]) } };
}

/** An encoder's socket on its way to another process, as messages have it. In this turn the socket must be sent. */
export function sentEncoder({ socket, ...encoder }: ProvenEncoder): SentEncoder {
  return withRest(encoder, detach(socket));
}

function plain(_key: string, value: unknown): unknown {
  return value instanceof Map ? { map: [...value] } : value;
}

function lively(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('map' in value && Array.isArray(value.map)) return new Map(value.map);
  return 'type' in value && value.type === 'Buffer' && 'data' in value ? Buffer.from(value.data as number[]) : value;
}
