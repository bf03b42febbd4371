/**
 * Takes encoders that speak HTTP: reads the head of PUT and SOURCE with a tolerant parser, and checks credentials and mount. An encoder with the
 * right secret goes on to the process of its channel (encoder-admission.ts), with its socket and the bytes read from it.
 */

import type { Socket } from 'node:net';
import { originOf } from '../../base/ip.js';
import { decoded, plainPath } from '../../base/request-target.js';
import type { EncoderMount } from '../../channel/mount.js';
import type { Proxies } from '../../net/front/client-address.js';
import { HeadReader } from '../../net/front/head-reader.js';
import { basicCredentials, type RequestHead } from '../../net/front/request-head.js';
import { connectionId } from '../../net/front/tracked-connection.js';
import type { Blocks } from '../../net/limits/blocks.js';
import { type Judged, judgeConnection } from '../../net/limits/judge.js';
import { NO_SECRET } from '../../net/limits/secret-gate.js';
import { CHALLENGE_METHODS } from '../allow.js';
import { answerRefusal } from './encoder-answer.js';
import { openedBy } from './shoutcast-password.js';
import { BASIC_CHALLENGE, type EncoderRefusal, type IngestOptions, secretRefusal } from './verdict.js';

export interface EncoderAcceptorOptions extends IngestOptions {
  readonly server: string;
  readonly proxies: Proxies;
  /** Addresses that an operator has blocked. */
  readonly blocks: Pick<Blocks, 'has'>;
  readonly encoderMounts: readonly EncoderMount[];
}

interface EncoderCaller {
  readonly socket: Socket;
  readonly address: string;
  readonly path: string;
  readonly agent: string;
}

const CHALLENGE = { 'WWW-Authenticate': BASIC_CHALLENGE, Allow: CHALLENGE_METHODS };
const NO_CREDENTIALS: EncoderRefusal = { status: 401, headers: CHALLENGE, why: NO_SECRET };
const NO_MOUNT: EncoderRefusal = { status: 404, why: 'no channel accepts an encoder at this mount' };
const BLOCKED: EncoderRefusal = { status: 403, why: 'this address is blocked for a while' };

export class EncoderAcceptor {
  readonly #options: EncoderAcceptorOptions;
  readonly #heads: HeadReader;

  constructor(options: EncoderAcceptorOptions) {
    this.#options = options;
    this.#heads = new HeadReader(options);
  }

  /** Takes a connection that began like an encoder's. @param first the bytes that were read already */
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

  /** Whether a mount exists is public: anybody can listen to it. */
  #judge(socket: Socket, head: RequestHead): void {
    const { mountAt, hookOf, proxies, blocks, headBytes } = this.#options;
    const path = plainPath(head.path);
    // The path as sent: decoded twice, it could differ from the mount in the hook's question.
    const mount = mountAt(head.path);
    const address = proxies.clientOf(socket, (name) => head.headers.get(name));
    const caller = {
      socket,
      address,
      path: this.#isSecret(path) ? '' : path,
      agent: head.headers.get('user-agent') ?? '',
    };
    // Only behind an HTTP proxy: other blocked clients were refused when they connected.
    if (blocks.has(address)) {
      this.#refuseAtPace(caller, BLOCKED);
      return;
    }
    const given = basicCredentials(head.headers.get('authorization'));
    if (given === null || mount === undefined) {
      // Many encoders try without a password first (NO_SECRET): no pace for these.
      if (given === null) this.#refuse(caller, NO_CREDENTIALS);
      else this.#refuseAtPace(caller, NO_MOUNT);
      return;
    }
    const hook = given.password === '' ? null : hookOf(mount.channelKey);
    const compare = () => mount.authorizes(given.user, given.password) || (hook === null ? false : null);
    const asked = { ...given, mount: path, address, agent: caller.agent, isTitle: false, socket };
    const onJudged = (judged: Judged, ahead: Buffer) => {
      const refused = secretRefusal(judged, CHALLENGE);
      if (refused !== null) {
        this.#refuse(caller, refused);
        return;
      }
      const rest = ahead.length === 0 ? head.rest : Buffer.concat([head.rest, ahead]);
      const connection = connectionId(socket);
      const proven = { socket, connection, address, path, channel: mount.channelKey, head: { ...head, rest } };
      this.#options.onProven({ kind: 'http', ...proven });
    };
    const ask = hook && (() => hook(asked));
    judgeConnection(this.#options, originOf(address), socket, headBytes, compare, onJudged, ask);
  }

  /** Whether the path is a password: both fields are adjacent in encoders' settings. */
  #isSecret(path: string): boolean {
    const texts = [path.slice(1), decoded(path.slice(1))];
    const readings = texts.map((password) => ({ user: null, password }));
    return openedBy(readings, this.#options.encoderMounts).length > 0;
  }

  #refuseAtPace(caller: EncoderCaller, refusal: EncoderRefusal): void {
    this.#options.pace.refuse(originOf(caller.address), caller.socket, () => this.#refuse(caller, refusal));
  }

  #refuse({ socket, ...caller }: EncoderCaller, refusal: EncoderRefusal): void {
    const connection = connectionId(socket);
    this.#options.onVerdict({ ...caller, connection, status: refusal.status, why: refusal.why });
    answerRefusal(socket, this.#options.server, refusal);
  }
}
