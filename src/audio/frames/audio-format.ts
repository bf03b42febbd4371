/** The properties of a stream that decide whether a player can follow a change (README.md). Values. */

import type { OggCodec } from '../ogg/ogg-codec.js';
import { type Codec, emptyHeader, HEADER_BYTES, readHeader } from './header.js';

export interface AudioFormat {
  readonly codec: Codec | OggCodec;
  /** Hertz and number of audio channels, as in PlayableAudio; 0: unknown. */
  readonly sampleRate: number;
  readonly channels: number;
}

/** The format of a frame of MP3 or AAC. */
export function frameFormat(frame: Buffer): AudioFormat {
  const header = emptyHeader();
  if (frame.length >= HEADER_BYTES) readHeader(frame, 0, header);
  const { codec, sampleRate, channels } = header;
  return { codec, sampleRate, channels };
}

/** How alike two formats are; 0: they differ in codec, and no player can follow. */
export function likeness(one: AudioFormat, other: AudioFormat): number {
  if (one.codec !== other.codec) return 0;
  return 1 + (isSame(one.sampleRate, other.sampleRate) ? 2 : 0) + (isSame(one.channels, other.channels) ? 1 : 0);
}

/** Whether sample rate and channels are the same, as far as they are known. */
export function canFollow(one: Omit<AudioFormat, 'codec'>, other: Omit<AudioFormat, 'codec'>): boolean {
  return isSame(one.sampleRate, other.sampleRate) && isSame(one.channels, other.channels);
}

function isSame(one: number, other: number): boolean {
  return one === other || one === 0 || other === 0;
}

/** `MP3, 44.1 kHz, stereo`: for the log and the operator. */
export function formatText({ codec, sampleRate, channels }: AudioFormat): string {
  const name = NAMES[codec];
  const rate = sampleRate === 0 ? [] : [`${sampleRate / 1000} kHz`];
  const layout = channels === 0 ? [] : [channels === 1 ? 'mono' : channels === 2 ? 'stereo' : `${channels} channels`];
  return [name, ...rate, ...layout].join(', ');
}

const NAMES: Readonly<Record<AudioFormat['codec'], string>> = {
  mp3: 'MP3',
  mp2: 'MP2',
  aac: 'AAC',
  vorbis: 'Vorbis',
  opus: 'Opus',
  flac: 'FLAC',
};
export const CODECS = Object.keys(NAMES) as readonly AudioFormat['codec'][];
