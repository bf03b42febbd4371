/** MP3 frames that play nothing and say their number, so that each of a stream can be found again in what listeners get. */

import { framesIn } from './feeder.js';

/** 128 kb/s, 44.1 kHz, stereo, no CRC. */
const HEADER = Buffer.from([0xff, 0xfb, 0x90, 0x00]);
const FRAME_BYTES = 417;
/** Behind the side information, which says that there is no main data. */
const NUMBER_AT = 40;
const NAME = 'frame ';
const DIGITS = 8;
/** How long each plays. */
export const NUMBERED_MS = 1152 / 44.1;

export function numberedFrame(number: number): Buffer {
  const frame = Buffer.alloc(FRAME_BYTES);
  HEADER.copy(frame);
  frame.write(NAME + String(number).padStart(DIGITS, '0'), NUMBER_AT);
  return frame;
}

/** Of those in the bytes, in their order; other frames are left out. */
export function numbersIn(audio: Buffer): number[] {
  const said = framesIn(audio).frames.map((frame) =>
    frame.toString('latin1', NUMBER_AT, NUMBER_AT + NAME.length + DIGITS),
  );
  return said.filter((text) => text.startsWith(NAME)).map((text) => Number(text.slice(NAME.length)));
}
