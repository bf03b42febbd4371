/**
 * Takes SHOUTcast v1 encoders: a line with the password, our OK2, their headers, a blank line, audio (src/http/ingest/README.md, "SHOUTcast v1").
 * The password determines the channel, unless several share it. An encoder with the right password goes on to the process of its channel
 * (shoutcast-admission.ts).
 */

import type { Socket } from 'node:net';
import { originOf } from '../../base/ip.js';
import { plainPath } from '../../base/request-target.js';
import type { EncoderMount } from '../../channel/mount.js';
import { addressOf } from '../../net/front/client-address.js';
import { HeadReader } from '../../net/front/head-reader.js';
import { refuse } from '../../net/front/refuse.js';
import { connectionId } from '../../net/front/tracked-connection.js';
import { type Judged, judgeConnection } from '../../net/limits/judge.js';
import { INVALID } from './shoutcast-admission.js';
import { FirstLineParser, IS_UVOX, namedIn, openedBy, readLogin } from './shoutcast-password.js';
import { askedOf, type EncoderRefusal, type IngestOptions, secretRefusal } from './verdict.js';

/** A refusal in SHOUTcast 2: the class of its first message, the length of the text, the text and a NUL. */
const UVOX_NAK = `Z\0\x10\x09\0${String.fromCharCode(IS_UVOX.message.length + 4)}NAK:${IS_UVOX.message}\0`;

export interface ShoutcastAcceptorOptions extends IngestOptions {
  readonly encoderMounts: readonly EncoderMount[];
}

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
      if (result === IS_UVOX) return this.#refuseAtPace(socket, { status: 415, why: IS_UVOX.message }, '', UVOX_NAK);
      if ('kind' in result) return this.#refuseAtPace(socket, { status: 400, why: result.message });
      const login = readLogin(result.line);
      // libshout accepts any answer.
      if (login.kind === 'poke') return refuse(socket, INVALID);
      if (login.kind === 'request') return refuse(socket, '');
      const mounts = this.#mountsAt(login.mount);
      // A path that is not a mount may be the beginning of a password.
      const path = mounts.length === 0 ? '' : plainPath(login.mount ?? '');
      let opened: readonly EncoderMount[] = [];
      const asked = askedOf(mounts, namedIn(login.readings), this.#options);
      const isOpened = () => (opened = openedBy(login.readings, mounts)).length > 0;
      const compare = () => isOpened() || (asked === null ? false : null);
      const address = addressOf(socket);
      const ask =
        asked &&
        (async () => {
          opened = [asked.mount];
          const mount = login.mount === null ? `/${asked.mount.channelKey}` : path;
          return await asked.hook({ ...asked.login, mount, address, agent: '', isTitle: false, socket });
        });
      const onJudged = (judged: Judged, ahead: Buffer) => {
        const refused = secretRefusal(judged, {});
        if (refused !== null) return this.#refuse(socket, refused, path);
        const shared = sharedRefusal(opened);
        if (shared !== null) return this.#refuseAtPace(socket, shared, path);
        const channel = opened[0]!.channelKey;
        const rest = ahead.length === 0 ? result.rest : Buffer.concat([result.rest, ahead]);
        const proven = { socket, connection: connectionId(socket), address, channel, path, rest };
        this.#options.onProven({ kind: 'shoutcast', ...proven });
      };
      judgeConnection(this.#options, originOf(address), socket, this.#options.headBytes, compare, onJudged, ask);
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

  #refuseAtPace(socket: Socket, refused: EncoderRefusal, path = '', answer = INVALID): void {
    this.#options.pace.refuse(originOf(addressOf(socket)), socket, () => this.#refuse(socket, refused, path, answer));
  }

  #refuse(socket: Socket, { status, why }: EncoderRefusal, path = '', answer = INVALID): void {
    const connection = connectionId(socket);
    this.#options.onVerdict({ status, path, agent: '', why, address: addressOf(socket), connection });
    refuse(socket, answer);
  }
}

/** Null: only one channel has this password. @param opened the channels with it, at least one */
function sharedRefusal(opened: readonly EncoderMount[]): EncoderRefusal | null {
  if (opened.length === 1) return null;
  const keys = opened.map((each) => each.channelKey).join(', ');
  return { status: 403, why: `the channels ${keys} share this password: use /mount:password, or change one of them` };
}
