/**
 * The latest link of each of the last encoders of a mount, by serial number: DarkIce and VLC reconnect in the middle of their stream, without the
 * header pages that a decoder needs. Owned by an encoder's source.
 */

import type { OggLink } from './ogg-link.js';

/** Encoders that take turns on one mount. A link takes some 5 KB, 85 KB at most. */
export const MAX_KNOWN_LINKS = 8;

export class KnownLinks {
  /** The latest is the last. */
  readonly #links = new Map<number, OggLink>();

  get isEmpty(): boolean {
    return this.#links.size === 0;
  }

  of(serial: number): OggLink | undefined {
    return this.#links.get(serial);
  }

  /** @param before the serial number of the link before it in the same stream, which has ended; -1: none */
  add(serial: number, link: OggLink, before: number): void {
    for (const over of [before, serial]) this.#links.delete(over);
    this.#links.set(serial, link);
    if (this.#links.size > MAX_KNOWN_LINKS) this.#links.delete(this.#links.keys().next().value!);
  }
}
