/** Audio of every kind that a tape supports, frame by frame, by seed, for stories about tapes. */

import { execFileSync } from 'node:child_process';
import type { ChannelAudio } from '../../src/audio/channel-audio.js';
import { framerFor } from '../../src/audio/frames/format.js';
import { emptyHeader, readHeader } from '../../src/audio/frames/header.js';
import type { OggLink } from '../../src/audio/ogg/ogg-link.js';
import { adtsFrame } from './adts.js';
import { frameOf } from './frame-of.js';
import { opusLink } from './made-ogg.js';
import type { Random } from './random.js';

interface StoryFrame {
  readonly bytes: Buffer;
  readonly durationMs: number;
  readonly link?: OggLink | undefined;
}

/** The Ogg kinds begin a new link now and then. */
export const STORY_KINDS = ['mp3', 'mp3-vbr', 'aac', 'opus', 'vorbis', 'flac'] as const;
export type StoryKind = (typeof STORY_KINDS)[number];

/** MPEG 1 layer III, 44.1 kHz: kb/s 32 to 320 by index. */
function mp3Frame(random: Random, index: number): StoryFrame {
  const head = Buffer.from([0xff, 0xfb, index << 4, 0x40]);
  const header = emptyHeader();
  readHeader(Buffer.concat([head, Buffer.alloc(8)]), 0, header);
  const bytes = Buffer.concat([head, random.bytes(header.lengthBytes - 4)]);
  // `main_data_begin`: 0, or into previous frames.
  if (random.chance(0.5)) bytes.writeUInt16BE(0, 4);
  return { bytes, durationMs: (header.samples / header.sampleRate) * 1000 };
}

const made = new Map<string, Buffer>();

/** Some seconds of a tone by ffmpeg. */
function encoded(codec: 'vorbis' | 'flac'): Buffer {
  let stream = made.get(codec);
  if (stream === undefined) {
    const sine = `sine=frequency=300:sample_rate=16000:duration=${codec === 'flac' ? 4 : 9}`;
    const encoder = codec === 'vorbis' ? ['libvorbis', '-b:a', '48k'] : ['flac'];
    stream = execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', sine, '-c:a', ...encoder, '-f', 'ogg', '-']);
    made.set(codec, stream);
  }
  return stream;
}

function packetsOf(stream: Buffer): StoryFrame[] {
  const packets: StoryFrame[] = [];
  const framer = framerFor({
    onFrame: ({ bytes, durationMs, link }) => packets.push({ bytes: Buffer.from(bytes), durationMs, link }),
  });
  for (let at = 0; at < stream.length; ) at += framer.push(stream.subarray(at));
  return packets;
}

export class StorySource {
  readonly kind: StoryKind;
  readonly #random: Random;
  #packets: StoryFrame[] = [];
  #serial = 0;

  constructor(kind: StoryKind, random: Random) {
    this.kind = kind;
    this.#random = random;
  }

  /** Writes the next frame. Returns its playing time. */
  write(audio: ChannelAudio, fresh = false): number {
    const { bytes, durationMs, link } = this.#next();
    // The first packet of Vorbis has no duration.
    audio.write(frameOf(bytes, durationMs, durationMs > 0 ? (bytes.length * 8) / durationMs : 64, fresh, link));
    return durationMs;
  }

  #next(): StoryFrame {
    const random = this.#random;
    if (this.kind === 'mp3') return mp3Frame(random, 3);
    if (this.kind === 'mp3-vbr') return mp3Frame(random, random.int(1, 14));
    if (this.kind === 'aac') {
      return { bytes: adtsFrame(random, random.int(20, 600), {}).frame, durationMs: 1024 / 44.1 };
    }
    if (this.#packets.length === 0) {
      const serial = ++this.#serial;
      const stream =
        this.kind === 'opus' ? opusLink(serial, random.int(50, 400), `TITLE=Of ${serial}`) : encoded(this.kind);
      this.#packets = packetsOf(stream);
    }
    return this.#packets.shift()!;
  }
}
