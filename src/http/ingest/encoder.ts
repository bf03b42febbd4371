/**
 * The encoders' door: reads the head of PUT and SOURCE with a tolerant parser, judges it (credentials, mount, content type) and only
 * then says 100 or 200, since some encoders look for the refusal in the same read (protocol.md, "Encoders"). After that the
 * connection belongs to the channel's encoder source.
 */

import type { Socket } from 'node:net';
import { originOf } from '../../base/ip.js';
import type { EncoderMount } from '../../channel/mount.js';
import { type HeadLimits, HeadReader } from '../../net/head-reader.js';
import { type Judged, type Judges, judgeConnection } from '../../net/held-connection.js';
import type { Proxies } from '../../net/peer.js';
import { refuse } from '../../net/refuse.js';
import { basicCredentials, type RequestHead } from '../../net/request-head.js';
import { NO_SECRET, SECRET_REASONS } from '../../net/secret-gate.js';
import { bodyOf } from '../../source/dechunk.js';
import type { RefusalPace } from './refusal-pace.js';
import { isReturning, type ReturningEncoders } from './returning.js';

export interface EncoderAcceptorOptions extends HeadLimits, Judges {
  readonly server: string;
  readonly proxies: Proxies;
  readonly pace: RefusalPace;
  readonly returning: ReturningEncoders;
  /** The channel behind a path that takes an encoder; undefined: none does. */
  mount(path: string): EncoderMount | undefined;
  /** It is let in, and is the channel's from here on. */
  onAdmitted(socket: Socket): void;
  /** Every verdict, for the log and the metrics; never with credentials. */
  onVerdict(verdict: EncoderVerdict): void;
}

export interface EncoderVerdict {
  readonly status: number;
  /** Of the client. */
  readonly address: string;
  /** As it was asked for, a mount or not; "" where none was named. */
  readonly path: string;
  readonly agent: string;
  /** The channel that takes it, or why none does. */
  readonly why: string;
}

/** An encoder that has sent its head. */
interface EncoderCaller {
  readonly socket: Socket;
  readonly address: string;
  readonly path: string;
  readonly agent: string;
}

interface EncoderRefusal {
  readonly status: number;
  readonly reason: string;
  readonly heads?: readonly string[];
  /** For the encoder; and for the log, which says `logged` instead where that is there. */
  readonly why: string;
  readonly logged?: string;
}

const NOTHING = Buffer.alloc(0);
/** What libshout looks for in the answer to its first request; POST for titles (protocol.md, "Encoders"). */
const METHODS = 'PUT, SOURCE, POST';
const UNAUTHORIZED = {
  ...{ status: 401, reason: 'Unauthorized' },
  heads: ['WWW-Authenticate: Basic realm="airsplice"', `Allow: ${METHODS}`],
};
const NO_CREDENTIALS: EncoderRefusal = { ...UNAUTHORIZED, why: NO_SECRET };
const NO_MOUNT: EncoderRefusal = { status: 404, reason: 'Not Found', why: 'no channel takes an encoder at this mount' };
const ACCEPTED =
  /^(audio\/(mpeg|mp3|x-mpeg|mpeg3|x-mp3|aac|aacp|x-aac|x-hx-aac-adts|ogg|opus|vorbis)|application\/(ogg|octet-stream))\s*(;|$)/i;

/** Undefined or empty: it does not say, and the frames tell. */
export function isAcceptedType(contentType: string | undefined): boolean {
  return !contentType || ACCEPTED.test(contentType);
}

export class EncoderAcceptor {
  readonly #options: EncoderAcceptorOptions;
  readonly #heads: HeadReader;

  constructor(options: EncoderAcceptorOptions) {
    this.#options = options;
    this.#heads = new HeadReader(options);
  }

  /** Takes a connection that began like an encoder. @param first the bytes that were read already */
  take(socket: Socket, first: Buffer): void {
    this.#heads.read(socket, first, (result) => {
      if ('kind' in result) {
        const caller = {
          socket,
          address: this.#options.proxies.clientOf(socket, () => undefined),
          path: '',
          agent: '',
        };
        this.#refuseAtPace(caller, { status: 400, reason: 'Bad Request', why: result.message });
      } else this.#judge(socket, result);
    });
  }

  close(): void {
    this.#heads.close();
  }

  /** Mounts are no secret: anybody can listen to them. */
  #judge(socket: Socket, head: RequestHead): void {
    const { mount: mountAt, proxies, headBytes } = this.#options;
    const mount = mountAt(head.path);
    const address = proxies.clientOf(socket, (name) => head.headers.get(name));
    const caller = { socket, address, path: head.path, agent: head.headers.get('user-agent') ?? '' };
    const given = basicCredentials(head);
    if (given === null || mount === undefined) {
      // Many ask without a password first (NO_SECRET): that has no pace.
      if (given === null) this.#refuse(caller, NO_CREDENTIALS);
      else this.#refuseAtPace(caller, NO_MOUNT);
      return;
    }
    const compare = () => mount.authorized(given.user, given.password);
    judgeConnection(this.#options, originOf(address), socket, headBytes, compare, (judged, ahead) => {
      const refused = refusalOf(judged);
      const onClear = (more: Buffer) => this.#place(caller, head, Buffer.concat([head.rest, ahead, more]), mount);
      if (refused !== null) this.#refuse(caller, refused);
      else if (isReturning(caller.agent, mount)) this.#options.returning.wait(socket, mount, headBytes, onClear);
      else onClear(NOTHING);
    });
  }

  /** Its password is right. @param first bytes of its body */
  #place(caller: EncoderCaller, head: RequestHead, first: Buffer, mount: EncoderMount): void {
    const refused = misfit(head, mount);
    if (refused !== null) this.#refuseAtPace(caller, refused);
    else this.#admit(caller, head, first, mount);
  }

  #admit({ socket, ...caller }: EncoderCaller, head: RequestHead, first: Buffer, mount: EncoderMount): void {
    socket.on('error', () => undefined);
    if (head.headers.get('content-length') === '0') {
      // The password is right, but there is no audio to come: nobody is cut for it.
      refuse(
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
    this.#options.onVerdict({ ...caller, status: expects ? 100 : 200, why: mount.channel });
    this.#options.onAdmitted(socket);
    mount.attach(socket, first, head.headers);
  }

  #refuseAtPace(caller: EncoderCaller, verdict: EncoderRefusal): void {
    this.#options.pace.refuse(originOf(caller.address), caller.socket, () => this.#refuse(caller, verdict));
  }

  #refuse({ socket, ...caller }: EncoderCaller, verdict: EncoderRefusal): void {
    const body = `${verdict.why}\n`;
    const heads = [
      `HTTP/1.0 ${verdict.status} ${verdict.reason}`,
      `Server: ${this.#options.server}`,
      'Connection: close',
      'Content-Type: text/plain; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...(verdict.heads ?? []),
    ];
    this.#options.onVerdict({ ...caller, status: verdict.status, why: verdict.logged ?? verdict.why });
    refuse(socket, `${heads.join('\r\n')}\r\n\r\n${body}`);
  }
}

/** Null: the password is right. */
function refusalOf({ verdict, retrySeconds }: Judged): EncoderRefusal | null {
  if (verdict === 'right') return null;
  const logged = SECRET_REASONS[verdict];
  // Icecast's answer too. On a 403 BUTT tries five times a second for ever, and does not say why.
  if (verdict === 'wrong') return { ...UNAUTHORIZED, why: 'wrong user or password', logged };
  const heads = [`Retry-After: ${retrySeconds}`];
  return {
    ...{ status: 429, reason: 'Too Many Requests', heads, logged },
    why: 'too many wrong passwords from this address',
  };
}

/** Why an encoder with the right password is refused all the same; null: it is not. */
function misfit(head: RequestHead, mount: EncoderMount): EncoderRefusal | null {
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
