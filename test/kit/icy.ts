/** Splits what a listener received with icecast-metadata-js, an independent reader. */

import { IcecastMetadataReader } from 'icecast-metadata-js';
import type { Test } from 'tap';

export interface TitleAt {
  readonly title: string;
  readonly byte: number;
}

/** Audio and titles, each with its place in the audio. */
export function readBack(received: Buffer, metaint: number): { audio: Buffer; titles: TitleAt[] } {
  const reader = new IcecastMetadataReader({ icyMetaInt: metaint, metadataTypes: ['icy'] });
  const audio: Buffer[] = [];
  const titles: TitleAt[] = [];
  let byte = 0;
  for (const item of reader.iterator(received)) {
    if (item.stream !== undefined) {
      audio.push(Buffer.from(item.stream));
      byte += item.stream.length;
    } else titles.push({ title: item.metadata!['StreamTitle']!, byte });
  }
  return { audio: Buffer.concat(audio), titles };
}

/** Duration of a frame of MP3 at 44.1 kHz. */
const FRAME_MS = 1152 / 44.1;

/**
 * Asserts that the block of a title is at the next place after the title's position; or, if the title was committed after its segment (a second of
 * audio) was closed, at the start of the next segment. @param atByte audio bytes before the block, at 128 kb/s
 */
export function isNextBlock(t: Test, positionMs: number, atByte: number, metaint: number): void {
  const behindMs = atByte / 16 - positionMs;
  const segmentBytes = Math.round(16_000 / metaint) * metaint;
  const maxMs = (atByte % segmentBytes === 0 ? segmentBytes : metaint) / 16;
  // A listener's first bytes may be a tag in place of a frame, without duration; and a title inside a frame moves to its end.
  t.ok(behindMs > -2 && behindMs < maxMs + 2 * FRAME_MS, `position ${positionMs}, the block stands at byte ${atByte}`);
}
