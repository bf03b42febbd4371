/** Writes bits, most significant first. */

export class Bits {
  #text = '';

  add(value: number, count: number): this {
    this.#text += value.toString(2).padStart(count, '0');
    return this;
  }

  /** Pads with zeros to the next byte. */
  align(): this {
    while (this.#text.length % 8 !== 0) this.#text += '0';
    return this;
  }

  /** The complete bytes. */
  bytes(): Buffer {
    this.align();
    return Buffer.from((this.#text.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  }
}
