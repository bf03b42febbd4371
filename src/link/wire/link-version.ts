/**
 * The version of the protocol between hubs, workers and machines: each end of a link begins with it, and reads nothing else from an end with another
 * version.
 *
 *   │ "airsplnk", 8 │ version, 4 │ messages …        little-endian; never changes, since every version must read that of every other one
 */

import { WireError } from './wire.js';

/**
 * Raised with every change of what goes over a link: frames, messages, plain data in them; of what goes with an encoder's socket (ConnectionPosition,
 * ProvenEncoder); of what is offered with a tape (ChannelPosition). Not with a new fact that has a default (../README.md). What a rolling restart
 * does then: ../../processes/README.md.
 */
export const LINK_VERSION = 15;

const MAGIC = Buffer.from('airsplnk');
export const GREETING_BYTES = MAGIC.length + 4;

/** The other end speaks another version, and nothing else of it is read. */
export class OtherVersion extends WireError {
  /** 0: it has sent none. */
  readonly version: number;

  constructor(version: number) {
    super(`the other process speaks version ${version} of the link, this one version ${LINK_VERSION}`);
    this.version = version;
  }
}

/** The bytes with which each end begins. */
export function greeting(version = LINK_VERSION): Buffer {
  const bytes = Buffer.alloc(GREETING_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(version, MAGIC.length);
  return bytes;
}

/** Reads the greeting of the other end. Owned by one connection. */
export class GreetingReader {
  readonly #bytes = Buffer.alloc(GREETING_BYTES);
  #fill = 0;

  /** Takes the next bytes of the stream. @returns how many belong to the greeting; 0: it is complete. @throws OtherVersion */
  take(chunk: Buffer): number {
    if (this.#fill === GREETING_BYTES) return 0;
    const from = this.#fill;
    const taken = chunk.copy(this.#bytes, from);
    this.#fill += taken;
    const known = Math.min(this.#fill, MAGIC.length);
    if (this.#bytes.compare(MAGIC, 0, known, 0, known) !== 0) throw new OtherVersion(0);
    if (this.#fill < GREETING_BYTES) return taken;
    const version = this.#bytes.readUInt32LE(MAGIC.length);
    if (version !== LINK_VERSION) throw new OtherVersion(version);
    return taken;
  }
}
