/**
 * A segment of packed audio: an ID3v2.4 tag, then whole frames of MP3 or AAC, unchanged (RFC 8216, 3.4).
 *
 *   │ ID3 │ PRIV timestamp │ TIT2 │ TPE1 │ TALB │ TXXX id │ frame │ frame │ …     only one tag: ffmpeg loses a frame for each
 *
 * A title within the first second goes into the tag, and so appears early by up to a second. Owned by HlsForms.
 */

import type { FrameHeader } from '../audio/frames/header.js';
import type { TitleText } from './hls-title.js';
import { id3Frame, id3Tag, titleFrames } from './id3.js';
import { MIN_TITLED_MS, type SegmentForm, type SegmentFrames } from './segment-form.js';

/** Timestamps of MPEG-2 transport streams: 90 kHz in 33 bits, which wrap after 26.5 hours. */
const TIMESTAMP_HERTZ = 90_000;
const TIMESTAMP_END = 2 ** 33;
const TIMESTAMP_OWNER = 'com.apple.streaming.transportStreamTimestamp\0';

export class PackedForm implements SegmentForm {
  readonly sampleRate: number;
  readonly format: string;
  readonly extension: string;
  readonly codecs: string;
  readonly init = null;

  /** @param key identifies the format of its frames (FrameHeader) */
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
 * Returns the timestamp of a place, by its distance from the start of its discontinuity.
 * @param startMs the start, Unix milliseconds @param seconds of audio since
 */
export function timestampAt(startMs: number, seconds: number): number {
  return Math.round((startMs * TIMESTAMP_HERTZ) / 1000 + seconds * TIMESTAMP_HERTZ) % TIMESTAMP_END;
}

/**
 * Returns the bytes of a segment.
 * @param timestamp of the first frame, from `timestampAt` @param title in force there, or null if unknown @param frames are copied
 */
export function packedSegment(timestamp: number, title: TitleText | null, frames: Buffer): Buffer {
  const tag = id3Tag([timestampFrame(timestamp), ...(title === null ? [] : titleFrames(title))]);
  // Not from Node's pool, which sockets would keep alive.
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
