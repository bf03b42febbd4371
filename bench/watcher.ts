/**
 * Parses the bytes of one WebSocket reader, in any chunks: checks the answer to the upgrade, then splits frames and passes on each text message as a
 * view that is valid only during the call. Anything that a feed must not send (another opcode, a mask, a fragment, a close) is a fault, after
 * which it reads nothing more. Independent of sockets. Owned by bench/watchers.ts, one for each reader.
 */

export const UPGRADE_HEADS =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
/** The answer to the key (RFC 6455, section 1.3). */
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';

export interface WatcherEvents {
  readonly onOpen: () => void;
  readonly onMessage: (payload: Buffer) => void;
  /** Called with the frame to send back. */
  readonly onPing: (pong: Buffer) => void;
  readonly onFault: (text: string) => void;
}

export class Watcher {
  readonly #events: WatcherEvents;
  #isOpen = false;
  #hasFault = false;
  /** The start of an incomplete head or frame. */
  #rest: Buffer | undefined;

  constructor(events: WatcherEvents) {
    this.#events = events;
  }

  /** Reads received bytes. The buffer may be reused after the call. */
  push(received: Buffer): void {
    if (this.#hasFault) return;
    const bytes = this.#rest === undefined ? received : Buffer.concat([this.#rest, received]);
    let from = 0;
    if (!this.#isOpen) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end >= 0) {
        const head = bytes.toString('latin1', 0, end + 2);
        if (!(head.startsWith('HTTP/1.1 101 ') && /^sec-websocket-accept: (\S+)\r$/im.exec(head)?.[1] === ACCEPT)) {
          this.#fault(head.split('\r\n')[0]!);
          return;
        }
        this.#isOpen = true;
        this.#events.onOpen();
        from = end + 4;
      }
    }
    while (this.#isOpen && !this.#hasFault) {
      const after = this.#frame(bytes, from);
      if (after === from) break;
      from = after;
    }
    this.#rest = from < bytes.length ? Buffer.from(bytes.subarray(from)) : undefined;
  }

  /** The end of the frame at `from`, or `from` if it is incomplete. */
  #frame(bytes: Buffer, from: number): number {
    if (bytes.length < from + 2) return from;
    const length = bytes[from + 1]!;
    const start = from + (length === 126 ? 4 : 2);
    if (length > 126) {
      this.#fault('a masked or a huge frame');
      return from;
    }
    if (bytes.length < start) return from;
    const end = start + (length === 126 ? bytes.readUInt16BE(from + 2) : length);
    if (bytes.length < end) return from;
    if (bytes[from] === 0x81) this.#events.onMessage(bytes.subarray(start, end));
    // Masked with zeros, which leaves the payload unchanged.
    else if (bytes[from] === 0x89)
      this.#events.onPing(Buffer.concat([Buffer.from([0x8a, 0x80 | length, 0, 0, 0, 0]), bytes.subarray(start, end)]));
    else this.#fault(`a frame that begins with 0x${bytes[from]!.toString(16)}`);
    return end;
  }

  #fault(text: string): void {
    this.#hasFault = true;
    this.#events.onFault(text);
  }
}
