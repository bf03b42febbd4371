/** The frames of the open segment, one after the other, in a buffer that grows to what a segment needs and stays. Owned by an HlsCutter. */

const FIRST_BYTES = 96 * 1024;

export class FrameBuffer {
  length = 0;
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);

  append(frame: Buffer): void {
    const needed = this.length + frame.length;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.length);
      this.#bytes = larger;
    }
    frame.copy(this.#bytes, this.length);
    this.length = needed;
  }

  /** All of them, until the next is appended: the buffer is empty then. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.length);
    this.length = 0;
    return bytes;
  }
}
