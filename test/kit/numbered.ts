/** Silent MP3 frames that contain their number, so that each one can be found in what listeners receive. */

import { framesIn } from './feeder.js';

/** 128 kb/s, 44.1 kHz, stereo, no CRC. */
const HEADER = Buffer.from([0xff, 0xfb, 0x90, 0x00]);
const FRAME_BYTES = 417;
/** Offset of the number, after the side information, which declares no main data. */
const NUMBER_AT = 40;
const NAME = 'frame ';
const DIGITS = 8;
/** Duration of a frame. */
export const NUMBERED_MS = 1152 / 44.1;

export function numberedFrame(number: number): Buffer {
  const frame = Buffer.alloc(FRAME_BYTES);
  HEADER.copy(frame);
  frame.write(NAME + String(number).padStart(DIGITS, '0'), NUMBER_AT);
  return frame;
}

/** The numbers of the frames in the bytes, in order; ignores other frames. */
export function numbersIn(audio: Buffer): number[] {
  const said = framesIn(audio).frames.map((frame) =>
    frame.toString('latin1', NUMBER_AT, NUMBER_AT + NAME.length + DIGITS),
  );
  return said.filter((text) => text.startsWith(NAME)).map((text) => Number(text.slice(NAME.length)));
}
