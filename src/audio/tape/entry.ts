/**
 * A listener's first segment, made so that no decoder complains (src/audio/README.md).
 *
 *   segment   │ rest of a frame │ frame │ frame │ frame …│
 *   MP3       │ ID3 tag ………………… │ muted │ frame │ frame …│    every byte after it keeps its place, and so does every ICY block
 *   AAC       │ the frame, stretched …… │ frame │ frame …│    Firefox takes a stream that begins with a tag for MP3
 *
 * A listener that gets AAC without ICY has no phase to keep, and begins with the frame as it is.
 * Pure: one copy serves all that begin with this segment (segment.ts keeps it).
 */

import { ADTS_HEADER_BYTES, canStretch, stretchFrame } from '../frames/adts.js';
import { emptyHeader, HEADER_BYTES, isAdts, readHeader } from '../frames/header.js';
import { Reservoir } from '../frames/reservoir.js';

const ID3_HEADER_BYTES = 10;
/** The frame that a tag must have: a text frame that has nothing but its encoding byte. */
const TAG_FRAME = Buffer.from('TSSE\0\0\0\x01\0\0\0', 'latin1');
const MIN_TAG_BYTES = ID3_HEADER_BYTES + TAG_FRAME.length;

/**
 * Whether a listener can begin with a frame: it is the segment's first byte, or there is room before it for a tag or for stretching.
 * @param frame the whole frame
 * @param offset audio bytes before it in its segment
 * @param segmentBytes audio bytes of the segment
 */
export function canEnter(frame: Buffer, offset: number, segmentBytes: number): boolean {
  if (offset === 0) return true;
  if (!isAdts(frame, 0)) return offset >= MIN_TAG_BYTES;
  return canStretch(frame, offset) && segmentBytes - offset >= ADTS_HEADER_BYTES;
}

/** Whether a listener without ICY gets the segment's audio from the entry on unchanged. @param entry its offset */
export function isEntryPlain(audio: Buffer, entry: number): boolean {
  return isAdts(audio, entry);
}

/**
 * Turns a copy of a segment's audio into the next bytes of a listener from another tape: the rest of the frame at which its stream stopped, then
 * a start like that of a new listener, at the first frame from the entry on for which there is room.
 *
 *   │ rest │ ID3 tag ……… │ muted │ frame …│
 *
 * @param audio changed in place
 * @param entry offset of the first frame
 * @returns the offset of that frame; -1: there is room for none, and nothing was changed
 */
export function enterBehind(audio: Buffer, entry: number, rest: Buffer): number {
  const behind = audio.subarray(rest.length);
  const header = emptyHeader();
  let at = entry;
  while (audio.length - at >= HEADER_BYTES && readHeader(audio, at, header)) {
    const frame = audio.subarray(at, at + header.lengthBytes);
    const offset = at - rest.length;
    if (frame.length === header.lengthBytes && offset >= 0 && canEnter(frame, offset, behind.length)) {
      rest.copy(audio);
      enter(behind, offset);
      return at;
    }
    at += header.lengthBytes;
  }
  return -1;
}

/**
 * Turns a copy of a segment's audio into a listener's first segment.
 * @param audio changed in place
 * @param entry offset of the first frame, as `canEnter` allows
 */
export function enter(audio: Buffer, entry: number): void {
  if (isAdts(audio, entry)) {
    if (entry > 0) stretchFrame(audio, entry);
    return;
  }
  if (entry > 0) writeTag(audio, entry);
  muteHead(audio, entry);
}

/**
 * An ID3v2.4 tag of `length` bytes: an empty frame and padding (ID3v2.4 main structure, 3.1: the size has seven bits a byte). Without a
 * frame GStreamer calls it broken; with a body of less than ten bytes mpg123 complains.
 */
function writeTag(out: Buffer, length: number): void {
  const size = length - ID3_HEADER_BYTES;
  out.fill(0, 0, length);
  out.write('ID3\x04', 0, 'latin1');
  TAG_FRAME.copy(out, ID3_HEADER_BYTES);
  for (let i = 0; i < 4; i++) out[6 + i] = (size >> (7 * (3 - i))) & 0x7f;
}

/** Mutes the first MP3 frames that need bytes from before the entry. */
function muteHead(audio: Buffer, entry: number): void {
  const reservoir = new Reservoir();
  reservoir.cut();
  const header = emptyHeader();
  let at = entry;
  while (
    !reservoir.isFull &&
    audio.length - at >= HEADER_BYTES &&
    readHeader(audio, at, header) &&
    header.codec === 'mp3'
  ) {
    const frame = audio.subarray(at, Math.min(at + header.lengthBytes, audio.length));
    const mended = reservoir.mend(frame);
    if (mended !== frame) mended.copy(audio, at);
    at += header.lengthBytes;
  }
}
