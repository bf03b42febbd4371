/**
 * The messages of a link that are not of tapes or sessions: plain data (metadata/codec.ts), in order. A message that cannot be read closes the link,
 * and has no other effect. Those between hub and workers: control-schema.ts. What each says: README.md.
 */

import { encode, parse } from '../metadata/codec.js';
import type { LinkConnection, MessageHandler } from './wire/link-connection.js';
import { CONTROL } from './wire/message-types.js';
import { MAX_MESSAGE_BYTES, type MessageReader, WireError } from './wire/wire.js';

/** The length that precedes the text of a message. */
const LENGTH_BYTES = 4;
/** Maximum size of a channel's encoded state: a change is sent with its record beside the state. */
export const MAX_STATE_BYTES = MAX_MESSAGE_BYTES / 2;

export interface ControlHandler<In> {
  /** @throws WireError, which closes the link */
  onControl(message: In): void;
  /** The link has ended. Called once. */
  onClosed(): void;
}

/** Sends and receives the control messages of one end of a link. */
export class Control<In, Out> implements MessageHandler {
  readonly #connection: LinkConnection;
  readonly #handler: ControlHandler<In>;
  readonly #read: (value: unknown) => In;

  /** @param read checks a parsed message; throws WireError or CheckError */
  constructor(connection: LinkConnection, handler: ControlHandler<In>, read: (value: unknown) => In) {
    this.#connection = connection;
    this.#handler = handler;
    this.#read = read;
    connection.handle(CONTROL, CONTROL, this);
  }

  /** False: it is too long and was not sent, as the other end would close the link. */
  send(message: Out): boolean {
    return this.sendEncoded(Buffer.from(encode(message)));
  }

  /** The same for a message that is encoded already, as UTF-8. */
  sendEncoded(bytes: Buffer): boolean {
    if (this.#connection.isClosed) return true;
    if (bytes.length + LENGTH_BYTES > MAX_MESSAGE_BYTES) return false;
    this.#connection.begin(CONTROL).blob(bytes).end();
    this.#connection.flush();
    return true;
  }

  onMessage(_type: number, message: MessageReader): void {
    const text = message.text(MAX_MESSAGE_BYTES);
    message.end();
    const value = parse(text);
    try {
      this.#handler.onControl(this.#read(value));
    } catch (error) {
      throw new WireError(`${typeOf(value)}: ${(error as Error).message}`, { cause: error });
    }
  }

  onDrain(): void {}

  onClosed(): void {
    this.#handler.onClosed();
  }
}

/** For errors: the message may be anything. */
function typeOf(value: unknown): string {
  const { type } = (value ?? {}) as { readonly type?: unknown };
  return typeof type === 'string' && /^[a-z]{1,16}$/.test(type) ? type : 'of no known type';
}
