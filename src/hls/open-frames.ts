/** The frames of the segment that is being cut, as its form stores them (segment-form.ts). Owned by an HlsCutter. */

const FIRST_BYTES = 96 * 1024;

export class OpenFrames {
  /** The length of all frames. */
  lengthBytes = 0;
  samples = 0;
  /** The bytes and samples of each frame. */
  sizes: number[] = [];
  durations: number[] = [];
  #buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);

  get isEmpty(): boolean {
    return this.sizes.length === 0;
  }

  /** All frames, valid until another is added. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.lengthBytes);
  }

  /** @param payload is copied */
  add(payload: Buffer, samples: number): void {
    const needed = this.lengthBytes + payload.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
      this.bytes.copy(larger);
      this.#buffer = larger;
    }
    payload.copy(this.#buffer, this.lengthBytes);
    this.lengthBytes = needed;
    this.samples += samples;
    this.sizes.push(payload.length);
    this.durations.push(samples);
  }

  clear(): void {
    this.lengthBytes = 0;
    this.samples = 0;
    this.sizes = [];
    this.durations = [];
  }
}
