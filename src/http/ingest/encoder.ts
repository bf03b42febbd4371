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
import { type Judged, judgeConnection } from '../../net/held-connection.js';
import type { Proxies } from '../../net/peer.js';
import { refuse } from '../../net/refuse.js';
import { basicCredentials, type RequestHead } from '../../net/request-head.js';
import { NO_SECRET, SECRET_REASONS } from '../../net/secret-gate.js';
import { bodyOf } from '../../source/dechunk.js';
import { isReturning, type ReturningEncoders } from './returning.js';
import { BASIC_CHALLENGE, type EncoderRefusal, type IngestOptions, SECRET_STATUS, typeRefusal } from './verdict.js';

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

/** With what the answer says beside its status. `why` is for the encoder, and for the log too where `logged` is not there. */
interface HttpRefusal extends EncoderRefusal {
  readonly heads?: readonly string[];
  readonly logged?: string;
}

const NOTHING = Buffer.alloc(0);
/** What libshout looks for in the answer to its first request; POST for titles (src/http/ingest/README.md, "What encoders send"). */
const METHODS = 'PUT, SOURCE, POST';
const CHALLENGE = [`WWW-Authenticate: ${BASIC_CHALLENGE}`, `Allow: ${METHODS}`];
const NO_CREDENTIALS: HttpRefusal = { status: 401, heads: CHALLENGE, why: NO_SECRET };
const NO_MOUNT: HttpRefusal = { status: 404, why: 'no channel takes an encoder at this mount' };

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

  /** Mounts are no secret: they can be listened to. */
  #judge(socket: Socket, head: RequestHead): void {
    const { mountAt, proxies, headBytes } = this.#options;
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
    const compare = () => mount.authorizes(given.user, given.password);
    judgeConnection(this.#options, originOf(address), socket, headBytes, compare, (judged, ahead) => {
      const refused = secretRefusal(judged);
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
      refuse(socket, this.#answerHead(200, ['Content-Length: 0']));
      return;
    }
    const expects = head.headers.get('expect')?.toLowerCase() === '100-continue';
    // The status must be 100 even over HTTP/1.0 (Liquidsoap); without Expect the encoder waits for a 200 before it sends.
    socket.write(expects ? 'HTTP/1.1 100 Continue\r\n\r\n' : this.#answerHead(200));
    this.#options.onVerdict({ ...caller, status: expects ? 100 : 200, why: mount.channelKey });
    this.#options.onAdmitted(socket);
    mount.attach(socket, first, head.headers);
  }

  #refuseAtPace(caller: EncoderCaller, refusal: HttpRefusal): void {
    this.#options.pace.refuse(originOf(caller.address), caller.socket, () => this.#refuse(caller, refusal));
  }

  #refuse({ socket, ...caller }: EncoderCaller, { status, why, logged, heads = [] }: HttpRefusal): void {
    const body = `${why}\n`;
    this.#options.onVerdict({ ...caller, status, why: logged ?? why });
    const content = ['Content-Type: text/plain; charset=utf-8', `Content-Length: ${Buffer.byteLength(body)}`];
    refuse(socket, this.#answerHead(status, [...content, ...heads]) + body);
  }

  #answerHead(status: number, heads: readonly string[] = []): string {
    const lines = [
      `HTTP/1.0 ${status} ${STATUS_CODES[status]}`,
      `Server: ${this.#options.server}`,
      'Connection: close',
    ];
    return [...lines, ...heads, '', ''].join('\r\n');
  }
}

/** Null: the password is right. */
function secretRefusal({ verdict, retrySeconds }: Judged): HttpRefusal | null {
  if (verdict === 'right') return null;
  const refusal = { status: SECRET_STATUS[verdict], logged: SECRET_REASONS[verdict] };
  return verdict === 'wrong'
    ? { ...refusal, heads: CHALLENGE, why: 'wrong user or password' }
    : { ...refusal, heads: [`Retry-After: ${retrySeconds}`], why: 'too many wrong passwords from this address' };
}

/** Why an encoder with the right password is refused all the same; null: it is not. */
function placeRefusal(head: RequestHead, mount: EncoderMount): HttpRefusal | null {
  if (mount.isBusy) return { status: 409, why: 'another encoder feeds this mount' };
  if (bodyOf(head.headers) !== null) return typeRefusal(head.headers);
  return head.headers.get('transfer-encoding') === undefined
    ? { status: 400, why: 'the content length is no number' }
    : { status: 501, why: 'of the transfer codings only chunked is known' };
}
