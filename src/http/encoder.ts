/**
 * The encoders' door: reads the head of PUT and SOURCE with a tolerant parser, judges it (credentials, mount, content type) and only
 * then says 100 or 200, since some encoders look for the refusal in the same read (protocol.md, "Encoders"). After that the
 * connection belongs to the channel's encoder source.
 */

import type { Socket } from 'node:net';
import { bodyOf } from '../source/dechunk.js';
import { basicCredentials, type Handshake } from '../source/handshake.js';
import type { Guarded } from '../source/shoutcast.js';
import { type HeadLimits, HeadReader } from './head-reader.js';
import { lastWord } from './last-word.js';
import { addressOf } from './peer.js';
import { originOf, type Rate } from './rate.js';

/** What the door must know of the mounts that encoders may feed. */
export interface EncoderMount extends Guarded {
  readonly channel: string;
  /** Whether this name and password may feed the channel; constant time. */
  authorized(user: string, password: string): boolean;
  /** Somebody feeds it who may not be replaced by an encoder that knows the password (`takeover` in the configuration). */
  readonly busy: boolean;
  /** From here on the connection is the channel's; whoever fed it before is cut. @param heads what the encoder says of itself */
  attach(socket: Socket, first: Buffer, heads: ReadonlyMap<string, string>): void;
}

export interface EncoderDoorOptions extends HeadLimits {
  readonly server: string;
  /** Wrong passwords, by address. */
  readonly wrongSecrets: Rate;
  /** The channel behind a path that takes an encoder; undefined: none does. */
  mount(path: string): EncoderMount | undefined;
  /** Every verdict, for the log and the metrics; never with credentials. */
  judged(status: number, path: string, agent: string, why: string): void;
}

interface Verdict {
  readonly status: number;
  readonly reason: string;
  readonly heads?: readonly string[];
  readonly why: string;
}

/** What libshout looks for in the answer to its first request; POST for titles (protocol.md, "Encoders"). */
const METHODS = 'PUT, SOURCE, POST';
const ACCEPTED =
  /^(audio\/(mpeg|mp3|x-mpeg|mpeg3|x-mp3|aac|aacp|x-aac|x-hx-aac-adts|ogg|opus|vorbis)|application\/(ogg|octet-stream))\s*(;|$)/i;

/** Undefined or empty: it does not say, and the frames tell. */
export function isAcceptedType(contentType: string | undefined): boolean {
  return !contentType || ACCEPTED.test(contentType);
}

export class EncoderDoor {
  readonly #options: EncoderDoorOptions;
  readonly #heads: HeadReader;

  constructor(options: EncoderDoorOptions) {
    this.#options = options;
    this.#heads = new HeadReader(options);
  }

  /** Takes a connection that began like an encoder. @param first the bytes that were read already */
  take(socket: Socket, first: Buffer): void {
    this.#heads.read(socket, first, (result) => {
      if ('kind' in result) this.#refuse(socket, '', '', { status: 400, reason: 'Bad Request', why: result.message });
      else this.#judge(socket, result);
    });
  }

  close(): void {
    this.#heads.close();
  }

  #judge(socket: Socket, head: Handshake): void {
    const mount = this.#options.mount(head.path);
    const agent = head.headers.get('user-agent') ?? '';
    const refused = this.#verdict(head, mount, originOf(addressOf(socket)));
    if (refused !== null || mount === undefined) {
      this.#refuse(socket, head.path, agent, refused ?? { status: 404, reason: 'Not Found', why: 'no such mount' });
      return;
    }
    socket.on('error', () => undefined);
    if (head.headers.get('content-length') === '0') {
      // Somebody with the right password who only asks: nobody is cut for him.
      lastWord(
        socket,
        `HTTP/1.0 200 OK\r\nServer: ${this.#options.server}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      );
      return;
    }
    const expects = head.headers.get('expect')?.toLowerCase() === '100-continue';
    // The status must be 100 even over HTTP/1.0 (Liquidsoap); without Expect the encoder waits for a 200 before it sends.
    socket.write(
      expects
        ? 'HTTP/1.1 100 Continue\r\n\r\n'
        : `HTTP/1.0 200 OK\r\nServer: ${this.#options.server}\r\nConnection: close\r\n\r\n`,
    );
    this.#options.judged(expects ? 100 : 200, head.path, agent, mount.channel);
    mount.attach(socket, head.rest, head.headers);
  }

  /** Null: may come in. Mounts are no secret: anybody can listen to them. */
  #verdict(head: Handshake, mount: EncoderMount | undefined, origin: string): Verdict | null {
    const given = basicCredentials(head);
    if (given === null) {
      const heads = ['WWW-Authenticate: Basic realm="airsplice"', `Allow: ${METHODS}`];
      return { status: 401, reason: 'Unauthorized', heads, why: 'no credentials' };
    }
    if (mount === undefined)
      return { status: 404, reason: 'Not Found', why: 'no channel takes an encoder at this mount' };
    if (!mount.authorized(given.user, given.password)) return this.#wrong(origin);
    if (mount.busy) return { status: 409, reason: 'Conflict', why: 'another encoder feeds this mount' };
    if (bodyOf(head.headers) === null) {
      if (head.headers.get('transfer-encoding') === undefined) {
        return { status: 400, reason: 'Bad Request', why: 'the content length is no number' };
      }
      return { status: 501, reason: 'Not Implemented', why: 'of the transfer codings only chunked is known' };
    }
    if (!isAcceptedType(head.headers.get('content-type'))) {
      return { status: 415, reason: 'Unsupported Media Type', why: 'the content type must be MP3, AAC (ADTS) or Ogg' };
    }
    return null;
  }

  #wrong(origin: string): Verdict {
    const waitSeconds = this.#options.wrongSecrets.take(origin);
    if (waitSeconds === 0) return { status: 403, reason: 'Forbidden', why: 'wrong password' };
    const heads = [`Retry-After: ${waitSeconds}`];
    return { status: 429, reason: 'Too Many Requests', heads, why: 'too many wrong passwords from this address' };
  }

  #refuse(socket: Socket, path: string, agent: string, verdict: Verdict): void {
    const body = `${verdict.why}\n`;
    const heads = [
      `HTTP/1.0 ${verdict.status} ${verdict.reason}`,
      `Server: ${this.#options.server}`,
      'Connection: close',
      'Content-Type: text/plain; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...(verdict.heads ?? []),
    ];
    this.#options.judged(verdict.status, path, agent, verdict.why);
    lastWord(socket, `${heads.join('\r\n')}\r\n\r\n${body}`);
  }
}
