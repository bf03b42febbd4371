/**
 * Takes SHOUTcast v1 encoders: a line with the password, our OK2, their headers, a blank line, audio (src/http/ingest/README.md, "SHOUTcast
 * v1"). The password names the channel; where two channels share it, it names none. Some encoders send all of it in one go and some wait for
 * the OK2, so it is said as soon as the password is judged. The answers are exactly the two that such encoders know.
 */

import type { Socket } from 'node:net';
import { originOf } from '../../base/ip.js';
import type { EncoderMount } from '../../channel/mount.js';
import { HeadReader } from '../../net/head-reader.js';
import { judgeConnection } from '../../net/judge.js';
import { addressOf } from '../../net/peer.js';
import { refuse } from '../../net/refuse.js';
import { type RequestHead, type RequestHeadFault, RequestHeadParser } from '../../net/request-head.js';
import { FirstLineParser, openedBy, readLogin } from './shoutcast-password.js';
import { type EncoderRefusal, type IngestOptions, secretRefusal, typeRefusal } from './verdict.js';

export interface ShoutcastAcceptorOptions extends IngestOptions {
  /** Every channel that takes an encoder. */
  readonly encoderMounts: readonly EncoderMount[];
}

const WELCOME = 'OK2\r\nicy-caps:11\r\n\r\n';
const INVALID = 'invalid password\r\n';
const IN_USE: EncoderRefusal = { status: 409, why: 'another encoder feeds this channel' };

/** Of an encoder whose password names a channel. */
interface ShoutcastRefusal extends EncoderRefusal {
  readonly channel?: string;
}

/** Where the headers begin there has been no request line. */
const NO_REQUEST = { method: '', path: '', query: '', protocol: '' };

export class ShoutcastAcceptor {
  readonly #options: ShoutcastAcceptorOptions;
  readonly #heads: HeadReader;

  constructor(options: ShoutcastAcceptorOptions) {
    this.#options = options;
    this.#heads = new HeadReader(options);
  }

  /** Takes a connection that began with a line of text. @param first the bytes that were read already */
  take(socket: Socket, first: Buffer): void {
    this.#heads.readWith(new FirstLineParser(this.#options.headBytes), socket, first, (result) => {
      if ('kind' in result) return this.#refuseAtPace(socket, { status: 400, why: result.message });
      const login = readLogin(result.line);
      // libshout wants any answer at all.
      if (login.kind === 'poke') return refuse(socket, INVALID);
      if (login.kind === 'request') return refuse(socket, '');
      const path = login.mount ?? '';
      const mounts = this.#mountsAt(login.mount);
      let opened: readonly EncoderMount[] = [];
      const compare = () => (opened = openedBy(login.readings, mounts)).length > 0;
      const { headBytes } = this.#options;
      judgeConnection(this.#options, originOf(addressOf(socket)), socket, headBytes, compare, (judged, ahead) => {
        const refused = secretRefusal(judged, {});
        if (refused !== null) return this.#refuse(socket, refused, path);
        const found = onlyOne(opened);
        if ('why' in found) return this.#refuseAtPace(socket, found, path);
        socket.write(WELCOME);
        const parser = new RequestHeadParser(this.#options, NO_REQUEST);
        const rest = ahead.length === 0 ? result.rest : Buffer.concat([result.rest, ahead]);
        this.#heads.readWith(parser, socket, rest, (head) => this.#admit(socket, found, head, path));
      });
    });
  }

  close(): void {
    this.#heads.close();
  }

  #mountsAt(path: string | null): readonly EncoderMount[] {
    if (path === null) return this.#options.encoderMounts;
    const named = this.#options.mountAt(path);
    return named === undefined ? [] : [named];
  }

  /** OK2 was sent already: an encoder that cannot stay after all is closed without an answer. */
  #admit(socket: Socket, mount: EncoderMount, head: RequestHead | RequestHeadFault, path: string): void {
    const refused = headRefusal(mount, head);
    const named = { path, channel: mount.channelKey, address: addressOf(socket) };
    if (refused !== null || 'kind' in head) {
      const { status, why } = refused ?? { status: 400, why: '' };
      this.#options.onVerdict({ ...named, status, agent: '', why });
      refuse(socket, '');
      return;
    }
    socket.on('error', () => undefined);
    const agent = head.headers.get('user-agent') ?? '';
    this.#options.onVerdict({ ...named, status: 200, agent, why: mount.channelKey });
    this.#options.onAdmitted(socket);
    mount.attach(socket, head.rest, head.headers);
  }

  #refuseAtPace(socket: Socket, refused: ShoutcastRefusal, path = ''): void {
    this.#options.pace.refuse(originOf(addressOf(socket)), socket, () => this.#refuse(socket, refused, path));
  }

  #refuse(socket: Socket, { status, why, channel }: ShoutcastRefusal, path = ''): void {
    this.#options.onVerdict({ status, path, channel, agent: '', why, address: addressOf(socket) });
    refuse(socket, INVALID);
  }
}

/** @param opened the channels that have this password, at least one */
function onlyOne(opened: readonly EncoderMount[]): EncoderMount | ShoutcastRefusal {
  const [channel, ...others] = opened;
  if (others.length > 0) {
    const keys = opened.map((each) => each.channelKey).join(', ');
    return { status: 403, why: `the channels ${keys} share this password: use /mount:password, or change one` };
  }
  return channel!.isBusy ? { ...IN_USE, channel: channel!.channelKey } : channel!;
}

/** Null: it may stay. */
function headRefusal(mount: EncoderMount, head: RequestHead | RequestHeadFault): EncoderRefusal | null {
  if ('kind' in head) return { status: 400, why: head.message };
  // Another one may have come while this one sent its headers.
  return typeRefusal(head.headers) ?? (mount.isBusy ? IN_USE : null);
}
