/**
 * Admits a SHOUTcast v1 encoder to the only channel with its password: OK2, its headers, audio. Some encoders send everything at once and some wait
 * for the OK2, so it is sent as soon as the channel is free. The answers are exactly the two that such encoders know.
 */

import { originOf } from '../../base/ip.js';
import type { EncoderSlot } from '../../channel/mount.js';
import { HeadReader } from '../../net/front/head-reader.js';
import { refuse } from '../../net/front/refuse.js';
import { type RequestHead, type RequestHeadFault, RequestHeadParser } from '../../net/front/request-head.js';
import { nameConnection } from '../../net/front/tracked-connection.js';
import { corkTurn } from './encoder-answer.js';
import type { ProvenShoutcastEncoder } from './proven.js';
import type { AdmissionParts, EncoderRefusal } from './verdict.js';

/** The answer for every refusal. */
export const INVALID = 'invalid password\r\n';
const WELCOME = 'OK2\r\nicy-caps:11\r\n\r\n';
const IN_USE: EncoderRefusal = { status: 409, why: 'another encoder feeds this channel' };

/** No request line precedes the headers. */
const NO_REQUEST = { method: '', path: '', query: '', protocol: '' };

export class ShoutcastAdmission {
  readonly #options: AdmissionParts;
  readonly #heads: HeadReader;

  constructor(options: AdmissionParts) {
    this.#options = options;
    this.#heads = new HeadReader(options);
  }

  /** Takes an encoder with the right password of this channel; its socket is paused. */
  take(encoder: ProvenShoutcastEncoder, slot: EncoderSlot): void {
    const { socket, address, rest } = encoder;
    const { pace } = this.#options;
    if (slot.isBusy) {
      pace.refuse(originOf(address), socket, () => this.#refuse(encoder, IN_USE, INVALID));
      return;
    }
    corkTurn(socket);
    socket.write(WELCOME);
    const parser = new RequestHeadParser(this.#options, NO_REQUEST);
    this.#heads.readWith(parser, socket, rest, (head) => this.#admit(encoder, slot, head));
  }

  /** Closes connections whose headers are incomplete. */
  close(): void {
    this.#heads.close();
  }

  /** Admits it after OK2, or closes the connection without another answer. */
  #admit(encoder: ProvenShoutcastEncoder, slot: EncoderSlot, head: RequestHead | RequestHeadFault): void {
    const { socket, connection, address, path } = encoder;
    const refused = headRefusal(slot, head);
    if (refused !== null || 'kind' in head) {
      this.#refuse(encoder, refused ?? { status: 400, why: '' }, '');
      return;
    }
    socket.on('error', () => undefined);
    const agent = head.headers.get('user-agent') ?? '';
    const { channelKey } = slot;
    const named = { path, channel: channelKey, address, connection };
    this.#options.onVerdict({ ...named, status: 200, agent, why: channelKey });
    nameConnection(socket, connection);
    this.#options.onAdmitted(socket);
    slot.attach(socket, head.rest, head, address, (status, why) =>
      this.#options.pace.refuse(originOf(address), socket, () => this.#refuse(encoder, { status, why }, '', agent)),
    );
  }

  #refuse(encoder: ProvenShoutcastEncoder, { status, why }: EncoderRefusal, answer: string, agent = ''): void {
    const { socket, connection, address, path, channel } = encoder;
    this.#options.onVerdict({ status, path, channel, agent, why, address, connection });
    refuse(socket, answer);
  }
}

/** Null: it is admitted. */
function headRefusal(slot: EncoderSlot, head: RequestHead | RequestHeadFault): EncoderRefusal | null {
  if ('kind' in head) return { status: 400, why: head.message };
  // Another encoder may have been admitted meanwhile.
  return slot.isBusy ? IN_USE : null;
}
