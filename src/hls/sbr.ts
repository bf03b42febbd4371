/**
 * Detects spectral band replication (AAC+), which plays at twice the sample rate of the headers. ADTS does not show it: it is in a fill element after
 * the audio of each frame, whose position only a decoder knows (ISO 14496-3, 4.4.2.7). So it tries every bit at which a fill element could begin
 * and the elements from there on end with the frame. One frame in a hundred matches by chance, hence many frames decide together.
 *
 *   raw data block │ audio … │ fill: SBR │ fill, data … │ end │ padding │
 *
 * Owned by an AacForm.
 */

/** Elements of a raw data block (ISO 14496-3, table 4.85). */
const [DATA, FILL, END] = [4, 6, 7] as const;
/** Extensions in a fill element: with SBR, and with SBR behind a CRC (table 4.121). */
const [SBR, SBR_CRC] = [13, 14] as const;
const ESCAPE_FILL = 15;
const ESCAPE_DATA = 255;
/** How many frames are examined, how many are needed to decide, and the share of them that must have SBR. */
const [MAX_FRAMES, MIN_FRAMES, SHARE] = [32, 8, 0.75] as const;

export class SbrProbe {
  #frames = 0;
  #found = 0;

  /** Whether the frames so far have SBR. */
  get hasSbr(): boolean {
    return this.#frames >= MIN_FRAMES && this.#found >= this.#frames * SHARE;
  }

  /** @param block the raw data block of a frame */
  count(block: Buffer): void {
    if (this.#frames === MAX_FRAMES) return;
    this.#frames++;
    if (mayHaveSbr(block)) this.#found++;
  }
}

/** Whether the block may have a fill element with SBR. */
export function mayHaveSbr(block: Buffer): boolean {
  const bits = block.length * 8;
  // A bit that failed once always fails: otherwise a forged frame of 8 KB would hold the event loop for 0.1 s, and 32 of them for 3 s.
  const seen = new Uint8Array(bits);
  for (let at = 0; at + 3 <= bits; at++) if (bitsAt(block, at, 3) === FILL && endsAsBlock(block, at, seen)) return true;
  return false;
}

/**
 * Whether a fill element with SBR begins at this bit, and the elements after it end with the block.
 * @param seen the bits at which elements began that failed this check
 */
function endsAsBlock(block: Buffer, from: number, seen: Uint8Array): boolean {
  const end = block.length * 8;
  const extension = bitsAt(block, from + (bitsAt(block, from + 3, 4) === ESCAPE_FILL ? 15 : 7), 4);
  if (extension !== SBR && extension !== SBR_CRC) return false;
  let at = from;
  while (at + 3 <= end && seen[at] === 0) {
    seen[at] = 1;
    const element = bitsAt(block, at, 3);
    if (element === END) return end - at - 3 < 8;
    if (element === FILL) at = behindFill(block, at);
    else if (element === DATA) at = behindData(block, at);
    else return false;
  }
  return false;
}

function behindFill(block: Buffer, from: number): number {
  const count = bitsAt(block, from + 3, 4);
  return count === ESCAPE_FILL ? from + 15 + 8 * (ESCAPE_FILL - 1 + bitsAt(block, from + 7, 8)) : from + 7 + 8 * count;
}

/** Skips a data element: instance, alignment flag, length, and bytes that may be aligned. */
function behindData(block: Buffer, from: number): number {
  const isAligned = bitsAt(block, from + 7, 1) === 1;
  const count = bitsAt(block, from + 8, 8);
  const isEscaped = count === ESCAPE_DATA;
  const at = from + (isEscaped ? 24 : 16);
  return (isAligned ? Math.ceil(at / 8) * 8 : at) + 8 * (isEscaped ? count + bitsAt(block, from + 16, 8) : count);
}

/** Returns up to eight bits; those after the end are 0. */
function bitsAt(block: Buffer, at: number, count: number): number {
  const byte = at >> 3;
  const two = ((block[byte] ?? 0) << 8) | (block[byte + 1] ?? 0);
  return (two >> (16 - (at & 7) - count)) & ((1 << count) - 1);
}
