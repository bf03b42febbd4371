/**
 * Takes encoders that speak HTTP: reads the head of PUT and SOURCE with a tolerant parser, judges it (credentials, mount, content type) and
 * only then says 100 or 200, since some encoders look for the refusal in the same read (src/http/ingest/README.md, "Answers"). After that the
 * connection belongs to the channel's encoder source.
 */

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { originOf } from '../../base/ip.js';
import type { EncoderMount } from '../../channel/mount.js';
import { HeadReader } from '../../net/head-reader.js';
import { judgeConnection } from '../../net/judge.js';
import type { Proxies } from '../../net/peer.js';
import { refuse } from '../../net/refuse.js';
import { basicCredentials, type RequestHead } from '../../net/request-head.js';
import { NO_SECRET } from '../../net/secret-gate.js';
import { bodyOf } from '../../source/dechunk.js';
import { CHALLENGE_METHODS } from '../allow.js';
import { isReturning, type ReturningEncoders } from './returning.js';
import { BASIC_CHALLENGE, type EncoderRefusal, type IngestOptions, secretRefusal, typeRefusal } from './verdict.js';

export interface EncoderAcceptorOptions extends IngestOptions {
  readonly server: string;
  readonly proxies: Proxies;
  readonly returning: ReturningEncoders;
}

/** An encoder that has sent its head. */
interface EncoderCaller {
  readonly socket: Socket;
  readonly address: string;
  readonly path: string;
  readonly agent: string;
}

const NOTHING = Buffer.alloc(0);
const CHALLENGE = { 'WWW-Authenticate': BASIC_CHALLENGE, Allow: CHALLENGE_METHODS };
const NO_CREDENTIALS: EncoderRefusal = { status: 401, headers: CHALLENGE, why: NO_SECRET };
const NO_MOUNT: EncoderRefusal = { status: 404, why: 'no channel takes an encoder at this mount' };

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
        const address = this.#options.proxies.clientOf(socket, () => undefined);
        this.#refuseAtPace({ socket, address, path: '', agent: '' }, { status: 400, why: result.message });
      } else this.#judge(socket, result);
    });
  }

  close(): void {
    this.#heads.close();
  }

  /** Mounts are not secret: they can be listened to. */
  #judge(socket: Socket, head: RequestHead): void {
    const { mountAt, proxies, headBytes } = this.#options;
    const mount = mountAt(head.path);
    const address = proxies.clientOf(socket, (name) => head.headers.get(name));
    const caller = { socket, address, path: head.path, agent: head.headers.get('user-agent') ?? '' };
    const given = basicCredentials(head.headers.get('authorization'));
    if (given === null || mount === undefined) {
      // Many ask without a password first (NO_SECRET): that has no pace.
      if (given === null) this.#refuse(caller, NO_CREDENTIALS);
      else this.#refuseAtPace(caller, NO_MOUNT);
      return;
    }
    const compare = () => mount.authorizes(given.user, given.password);
    judgeConnection(this.#options, originOf(address), socket, headBytes, compare, (judged, ahead) => {
      const refused = secretRefusal(judged, CHALLENGE);
      const onClear = (more: Buffer) => this.#place(caller, head, Buffer.concat([head.rest, ahead, more]), mount);
      if (refused !== null) this.#refuse(caller, refused);
      else if (isReturning(caller.agent, mount)) this.#options.returning.wait(socket, mount, headBytes, onClear);
      else onClear(NOTHING);
    });
  }

  /** Its password is right. @param first bytes of its body */
  #place(caller: EncoderCaller, head: RequestHead, first: Buffer, mount: EncoderMount): void {
    const refused = placeRefusal(head, mount);
    if (refused !== null) this.#refuseAtPace(caller, refused);
    else this.#admit(caller, head, first, mount);
  }

  #admit({ socket, ...caller }: EncoderCaller, head: RequestHead, first: Buffer, mount: EncoderMount): void {
    socket.on('error', () => undefined);
    if (head.headers.get('content-length') === '0') {
      // The password is right, but there is no audio to come: no other encoder is cut for it.
      refuse(socket, this.#answerHead(200, { 'Content-Length': '0' }));
      return;
    }
    const expects = head.headers.get('expect')?.toLowerCase() === '100-continue';
    // The status must be 100 even over HTTP/1.0 (Liquidsoap); without Expect the encoder waits for a 200 before it sends.
    socket.write(expects ? 'HTTP/1.1 100 Continue\r\n\r\n' : this.#answerHead(200));
    this.#options.onVerdict({ ...caller, status: expects ? 100 : 200, why: mount.channelKey });
    this.#options.onAdmitted(socket);
    mount.attach(socket, first, head.headers);
  }

  #refuseAtPace(caller: EncoderCaller, refusal: EncoderRefusal): void {
    this.#options.pace.refuse(originOf(caller.address), caller.socket, () => this.#refuse(caller, refusal));
  }

  #refuse({ socket, ...caller }: EncoderCaller, { status, why, text = why, headers }: EncoderRefusal): void {
    const body = `${text}\n`;
    this.#options.onVerdict({ ...caller, status, why });
    const content = { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': String(Buffer.byteLength(body)) };
    refuse(socket, this.#answerHead(status, { ...content, ...headers }) + body);
  }

  #answerHead(status: number, headers: Readonly<Record<string, string>> = {}): string {
    const all = { Server: this.#options.server, Connection: 'close', ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    return [`HTTP/1.0 ${status} ${STATUS_CODES[status]}`, ...lines, '', ''].join('\r\n');
  }
}

/** Why an encoder with the right password is refused all the same; null: it is not. */
function placeRefusal(head: RequestHead, mount: EncoderMount): EncoderRefusal | null {
  if (mount.isBusy) return { status: 409, why: 'another encoder feeds this mount' };
  if (bodyOf(head.headers) !== null) return typeRefusal(head.headers);
  return head.headers.get('transfer-encoding') === undefined
    ? { status: 400, why: 'the content length is not a number' }
    : { status: 501, why: 'of the transfer codings only chunked is known' };
}
