/**
 * A segment of packed audio: an ID3v2.4 tag, then whole frames of MP3 or AAC as they came (RFC 8216, 3.4).
 *
 *   │ ID3 │ PRIV timestamp │ TIT2 │ TPE1 │ TALB │ TXXX id │ frame │ frame │ …     there is no tag but this one: ffmpeg loses a frame for each
 *
 * A title within the first second stands in the tag, early by as much. Owned by HlsForms.
 */

import type { FrameHeader } from '../audio/frames/header.js';
import type { TitleText } from './hls-title.js';
import { id3Frame, id3Tag, titleFrames } from './id3.js';
import { MIN_TITLED_MS, type SegmentForm, type SegmentFrames } from './segment-form.js';

/** Of MPEG-2 transport streams: 90 kHz in 33 bits, which begin again after 26.5 hours. */
const TIMESTAMP_HERTZ = 90_000;
const TIMESTAMP_END = 2 ** 33;
const TIMESTAMP_OWNER = 'com.apple.streaming.transportStreamTimestamp\0';

export class PackedForm implements SegmentForm {
  readonly sampleRate: number;
  readonly format: string;
  readonly extension: string;
  readonly codecs: string;
  readonly init = null;

  /** @param key of its frames' format (FrameHeader) */
  constructor(extension: string, codecs: string, { key, sampleRate }: Pick<FrameHeader, 'key' | 'sampleRate'>) {
    this.extension = extension;
    this.codecs = codecs;
    this.format = `${extension}-${key}`;
    this.sampleRate = sampleRate;
  }

  payload(frame: Buffer): Buffer {
    return frame;
  }

  segment({ startMs, samplesBefore, titles, bytes }: SegmentFrames): Buffer {
    const title = titles.findLast(({ offsetMs }) => offsetMs < MIN_TITLED_MS)?.text ?? null;
    return packedSegment(timestampAt(startMs, samplesBefore / this.sampleRate), title, bytes);
  }
}

/**
 * The timestamp of a place: how far it is behind the start of its discontinuity, by what was sampled.
 * @param startMs of that start, unix milliseconds @param seconds of audio since
 */
export function timestampAt(startMs: number, seconds: number): number {
  return Math.round((startMs * TIMESTAMP_HERTZ) / 1000 + seconds * TIMESTAMP_HERTZ) % TIMESTAMP_END;
}

/**
 * @param timestamp of the first frame, as `timestampAt` has it
 * @param title in force there; null: none is known
 * @param frames copied
 */
export function packedSegment(timestamp: number, title: TitleText | null, frames: Buffer): Buffer {
  const tag = id3Tag([timestampFrame(timestamp), ...(title === null ? [] : titleFrames(title))]);
  // Not of Node's pool: sockets may hold it.
  const out = Buffer.allocUnsafeSlow(tag.length + frames.length);
  tag.copy(out);
  frames.copy(out, tag.length);
  return out;
}

function timestampFrame(timestamp: number): Buffer {
  const body = Buffer.alloc(TIMESTAMP_OWNER.length + 8);
  body.write(TIMESTAMP_OWNER, 'latin1');
  body.writeBigUInt64BE(BigInt(timestamp), TIMESTAMP_OWNER.length);
  return id3Frame('PRIV', body);
}
