/**
 * Admits an encoder that speaks HTTP, with the right secret, to its channel: checks that it may feed it now, and that its body can be read, before it
 * answers 100 or 200, since some encoders look for the refusal in the same read (src/http/ingest/README.md, "Answers"). After that the connection
 * belongs to the channel's encoder source.
 */

import { originOf } from '../../base/ip.js';
import type { EncoderSlot } from '../../channel/mount.js';
import { refuse } from '../../net/front/refuse.js';
import type { RequestHead } from '../../net/front/request-head.js';
import { nameConnection } from '../../net/front/tracked-connection.js';
import { bodyOf } from '../../source/dechunk.js';
import { answerHead, answerRefusal, corkTurn } from './encoder-answer.js';
import type { ProvenHttpEncoder } from './proven.js';
import { isReturning, type ReturningEncoders } from './returning.js';
import type { AdmissionParts, EncoderRefusal } from './verdict.js';

export interface EncoderAdmissionOptions extends AdmissionParts {
  /** The value of the Server header. */
  readonly server: string;
  readonly returning: ReturningEncoders;
}

type RefusedEncoder = Omit<ProvenHttpEncoder, 'kind'>;

const NOTHING = Buffer.alloc(0);

export class EncoderAdmission {
  readonly #options: EncoderAdmissionOptions;

  constructor(options: EncoderAdmissionOptions) {
    this.#options = options;
  }

  /** Takes an encoder with the right secret of this channel; its socket is paused. */
  take(encoder: ProvenHttpEncoder, slot: EncoderSlot): void {
    const { head, socket } = encoder;
    const { returning, headBytes } = this.#options;
    const onClear = (more: Buffer) => this.#settle(encoder, Buffer.concat([head.rest, more]), slot);
    if (isReturning(agentOf(head), slot)) returning.wait(socket, slot, headBytes, onClear);
    else onClear(NOTHING);
  }

  /** @param first bytes of its body */
  #settle(encoder: ProvenHttpEncoder, first: Buffer, slot: EncoderSlot): void {
    const refused = slotRefusal(encoder.head, slot);
    if (refused === null) this.#admit(encoder, first, slot);
    else this.#refuseAtPace(encoder, refused);
  }

  #admit({ socket, connection, address, path, head }: ProvenHttpEncoder, first: Buffer, slot: EncoderSlot): void {
    const { server, onVerdict, onAdmitted } = this.#options;
    socket.on('error', () => undefined);
    if (head.headers.get('content-length') === '0') {
      // The password is right, but no audio will follow, so it must not replace another encoder.
      refuse(socket, answerHead(server, 200, { 'Content-Length': '0' }));
      return;
    }
    const expects = head.headers.get('expect')?.toLowerCase() === '100-continue';
    corkTurn(socket);
    // The status must be 100 even over HTTP/1.0 (Liquidsoap). Without Expect an encoder waits for a 200 before it sends.
    socket.write(expects ? 'HTTP/1.1 100 Continue\r\n\r\n' : answerHead(server, 200));
    const status = expects ? 100 : 200;
    onVerdict({ address, connection, path, agent: agentOf(head), status, why: slot.channelKey });
    nameConnection(socket, connection);
    onAdmitted(socket);
    const encoder = { socket, connection, address, path, head, channel: slot.channelKey };
    slot.attach(socket, first, head, address, (status, why) => this.#refuseAtPace(encoder, { status, why }, expects));
  }

  #refuseAtPace(encoder: RefusedEncoder, refusal: EncoderRefusal, hasStatus = true): void {
    const { pace } = this.#options;
    pace.refuse(originOf(encoder.address), encoder.socket, () => this.#refuse(encoder, refusal, hasStatus));
  }

  /** @param hasStatus false: the encoder has got a 200 already, so only the sentence can follow */
  #refuse(encoder: RefusedEncoder, refusal: EncoderRefusal, hasStatus: boolean): void {
    const { socket, head, ...named } = encoder;
    const { server, onVerdict } = this.#options;
    const { status, why } = refusal;
    onVerdict({ ...named, agent: agentOf(head), status, why });
    if (hasStatus) answerRefusal(socket, server, refusal);
    else refuse(socket, `${why}\n`);
  }
}

function agentOf({ headers }: RequestHead): string {
  return headers.get('user-agent') ?? '';
}

/** Why an encoder with the right password is refused nevertheless; null: it is not. */
function slotRefusal(head: RequestHead, slot: EncoderSlot): EncoderRefusal | null {
  if (slot.isBusy) return { status: 409, why: 'another encoder feeds this mount' };
  if (bodyOf(head.headers) !== null) return null;
  return head.headers.get('transfer-encoding') === undefined
    ? { status: 400, why: 'the content length is not a number' }
    : { status: 501, why: 'chunked is the only supported transfer coding' };
}
