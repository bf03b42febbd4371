/**
 * Reads a tape of Ogg packet by packet for the cutter. Links follow one another (audio/ogg/ogg-tape.ts); their heads are skipped, since titles are
 * the tape's marks. An Opus link that continues repeats the last 80 ms of the previous one, which are dropped.
 *
 *   tape      │ head │ 1 2 3 4 5 6 EOS │ head │ 3 4 5 6 7 8 9 │ …
 *   packets            1 2 3 4 5 6                     7 8 9
 *
 * Owned by an HlsCutter.
 */

import type { Frame } from '../audio/frames/frame.js';
import type { FrameSink } from '../audio/frames/framer.js';
import { OggFramer } from '../audio/ogg/ogg.js';
import { type OggFacts, readIdentification } from '../audio/ogg/ogg-codec.js';
import { headerBytes, pageBytes } from '../audio/ogg/ogg-page.js';
import type { OggSegment } from '../audio/ogg/ogg-segment.js';
import type { AudioTape } from '../audio/tape/audio-tape.js';
import type { AudioSegment } from '../audio/tape/segment.js';
import type { TapeFrameSink, TapeReader } from './frame-reader.js';
import type { HlsForms } from './hls-forms.js';

/** The offset of the pre-skip in Opus' identification packet (RFC 7845, 5.1). */
const PRE_SKIP_AT = 10;
const OPUS_KHZ = 48;

/** Returns the facts of a tape's Ogg stream; null if it has MP3 or AAC frames, or no segment yet. */
export function oggFacts(tape: AudioTape): OggFacts | null {
  if (tape.rendering(false) === null) return null;
  const last = tape.at(tape.head - 1);
  return last === undefined ? null : readIdentification(identificationOf(last as OggSegment));
}

export class PacketReader implements TapeReader, FrameSink {
  readonly #sink: TapeFrameSink;
  readonly #forms: HlsForms;
  readonly #framer = new OggFramer(this);
  #isFirst = true;
  /** Audio time of the next packet that is not dropped. */
  #atMs = 0;
  /** Samples that repeat the previous link. */
  #againSamples = 0;

  constructor(sink: TapeFrameSink, forms: HlsForms) {
    this.#sink = sink;
    this.#forms = forms;
  }

  take(segment: AudioSegment): void {
    const ogg = segment as OggSegment;
    if (this.#isFirst) {
      this.#isFirst = false;
      this.#framer.push(ogg.head.bytes);
    }
    this.#atMs = ogg.startMs;
    this.#againSamples = samplesAgain(ogg);
    this.#framer.push(ogg.bytes);
  }

  onFrame({ bytes, durationMs, link }: Frame): void {
    const { sampleRate } = link!.facts;
    const samples = Math.round((durationMs * sampleRate) / 1000);
    if (samples === 0) return;
    if (this.#againSamples > 0) {
      this.#againSamples -= samples;
      return;
    }
    this.#sink.onFrame(bytes, samples, this.#atMs, this.#forms.ofLink(link!));
    this.#atMs += durationMs;
  }
}

/** Returns how much of the pre-skip lies before this segment's time, and so repeats the previous link, in samples. */
function samplesAgain(segment: OggSegment): number {
  const identification = identificationOf(segment);
  if (readIdentification(identification)?.codec !== 'opus') return 0;
  const skippedSamples = identification.readUInt16LE(PRE_SKIP_AT);
  return Math.max(0, skippedSamples - Math.round((segment.entryMs - segment.startMs) * OPUS_KHZ));
}

/** Returns the first packet of the segment's link, which is alone on its page. */
function identificationOf({ head: { bytes } }: OggSegment): Buffer {
  return bytes.subarray(headerBytes(bytes, 0), pageBytes(bytes, 0, bytes.length));
}
