/**
 * MP3's bit reservoir at a cut. A frame's sound may begin in the frames before it (`main_data_begin`, ISO 11172-3 2.4.1.7, up to 511
 * bytes back); behind a cut those belong to another stream, and a decoder makes noise of them or reports errors.
 *
 *   …old][old]│[new][new][new]…      A frame that reaches back over the cut is muted: its side information is zeroed, so it plays as
 *             └─ cut  ▲muted         silence, and its bytes stay for the frames behind it, which need them: one or two at 128 kb/s, seven
 *                                  at most.
 *
 * Frames without a reservoir (AAC, layers I and II) pass unchanged. Owned by a channel; it allocates only for a muted frame.
 */

/** No frame reaches back further. */
const MAX_BACK_BYTES = 511;

export class Reservoir {
  /** Main data of this stream since the cut, bytes. */
  #bytes = MAX_BACK_BYTES;

  /** The next frame belongs to another stream, or to another place of this one. */
  cut(): void {
    this.#bytes = 0;
  }

  /** No frame from now on reaches back over the cut. */
  get isFull(): boolean {
    return this.#bytes >= MAX_BACK_BYTES;
  }

  /** The frame for the tape: itself, or a muted copy. */
  mend(frame: Buffer): Buffer {
    if (this.isFull) return frame;
    const second = frame[1]!;
    if ((second & 0xe6) !== 0xe2) return frame; // not layer III
    const isFirstVersion = (second & 0x18) === 0x18;
    const sideAt = (second & 1) === 0 ? 6 : 4;
    const isMono = frame[3]! >> 6 === 3;
    const sideEnd = sideAt + (isFirstVersion ? (isMono ? 17 : 32) : isMono ? 9 : 17);
    if (frame.length < sideEnd) return frame;
    const back = isFirstVersion ? (frame[sideAt]! << 1) | (frame[sideAt + 1]! >> 7) : frame[sideAt]!;
    const coveredBytes = this.#bytes;
    this.#bytes += frame.length - sideEnd;
    if (back <= coveredBytes) return frame;
    const silent = Buffer.from(frame);
    silent.fill(0, sideAt, sideEnd);
    // The muted frame needs nothing, but decoders keep for the next frame only what this one reaches.
    if (isFirstVersion) silent.writeUInt16BE(coveredBytes << 7, sideAt);
    else silent[sideAt] = coveredBytes;
    if (sideAt === 6) silent.writeUInt16BE(crc16(silent, sideEnd), 4);
    return silent;
  }
}

/** CRC over the last two bytes of the header and the side information (ISO 11172-3 2.4.3.1). */
function crc16(frame: Buffer, sideEnd: number): number {
  let crc = 0xffff;
  for (let at = 2; at < sideEnd; at++) {
    if (at === 4 || at === 5) continue;
    crc ^= frame[at]! << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x8005 : 0)) & 0xffff;
  }
  return crc;
}
