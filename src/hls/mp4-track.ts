/**
 * The sample entry of a track in MP4, made from the first header of a stream.
 *
 *   AAC    mp4a │ esds: AudioSpecificConfig      ISO 14496-14, 3.1 and ISO 14496-3, 1.6
 *   Opus   Opus │ dOps: identification header    Encapsulation of Opus in ISO Base Media File Format, 4.3
 *   FLAC   fLaC │ dfLa: STREAMINFO               Encapsulation of FLAC in ISO Base Media File Format, 3.3
 *
 * Facts that vary from link to link without changing the sound are left out, so that two streams with the same entry are of one format. Pure.
 */

import { box, fullBox, u16, u32 } from './box.js';

export interface Mp4Track {
  readonly sampleRate: number;
  /** RFC 6381. */
  readonly codecs: string;
  /** The sample entry. */
  readonly entry: Buffer;
}

/** The sample size of codecs that have none. */
const SAMPLE_BITS = 16;
/** The largest rate in 16.16 fixed point. */
const MAX_ENTRY_RATE = 0xffff;

/** ISO 14496-3, table 1.17. */
const SBR_OBJECT = 5;
/** ISO 14496-1, 7.2.2.1 and table 5; ISO 14496-14, 3.1.2. */
const [ES, DECODER_CONFIG, DECODER_SPECIFIC, SL_CONFIG] = [3, 4, 5, 6] as const;
const [AAC_OBJECT, AUDIO_STREAM, MP4_SL] = [0x40, 0x15, 2] as const;

/** ISO 14496-3, table 1.18. */
const RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350];

/**
 * @param header an ADTS header with channel configuration 1 to 7
 * @param hasSbr whether the frames have spectral band replication, which doubles the sample rate and is not in the header
 */
export function aacTrack(header: Buffer, hasSbr: boolean): Mp4Track {
  const [third, fourth] = [header[2]!, header[3]!];
  const object = (third >> 6) + 1;
  const rateIndex = (third >> 2) & 15;
  const channels = ((third & 1) << 2) | (fourth >> 6);
  const sampleRate = RATES[rateIndex]!;
  const heardIndex = RATES.indexOf(2 * sampleRate);
  const isSbr = hasSbr && heardIndex >= 0;
  // Object, rate, channels; with SBR the doubled rate and the underlying object; 3 zero bits: frames of 1,024 samples.
  const config = isSbr
    ? u32(((SBR_OBJECT << 27) | (rateIndex << 23) | (channels << 19) | (heardIndex << 15) | (object << 10)) >>> 0)
    : u16((object << 11) | (rateIndex << 7) | (channels << 3));
  const decoder = Buffer.concat([
    Buffer.from([AAC_OBJECT, AUDIO_STREAM, 0, 0, 0]),
    u32(0, 0),
    descriptor(DECODER_SPECIFIC, config),
  ]);
  const es = descriptor(
    ES,
    u16(0),
    Buffer.of(0),
    descriptor(DECODER_CONFIG, decoder),
    descriptor(SL_CONFIG, Buffer.of(MP4_SL)),
  );
  const facts = { channels: channels === 7 ? 8 : channels, bits: SAMPLE_BITS, sampleRate };
  const codecs = isSbr ? 'mp4a.40.5' : 'mp4a.40.2';
  return { sampleRate, codecs, entry: sampleEntry('mp4a', facts, fullBox('esds', 0, 0, es)) };
}

/** Returns a descriptor with a length of four bytes, as most programs write it (ISO 14496-1, 8.3.3). */
function descriptor(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, 0x80, 0x80, 0x80, body.length]), body]);
}

const OPUS_RATE = 48_000;

/**
 * The pre-skip is 0, since players join anywhere and play each listed sample. The sample rate before encoding, which no player needs, is left out.
 * @param identification the stream's first packet (RFC 7845, 5.1)
 */
export function opusTrack(identification: Buffer): Mp4Track {
  const channels = identification[9]!;
  const gain = u16(identification.readUInt16LE(16));
  // The channel mapping; all families but 0 name streams and channels.
  const mapping = identification.subarray(18, identification[18] === 0 ? 19 : 21 + channels);
  const dOps = box('dOps', Buffer.from([0, channels]), u16(0), u32(OPUS_RATE), gain, mapping);
  const entry = sampleEntry('Opus', { channels, bits: SAMPLE_BITS, sampleRate: OPUS_RATE }, dOps);
  return { sampleRate: OPUS_RATE, codecs: 'opus', entry };
}

/** Where STREAMINFO begins in FLAC's first Ogg packet, after the header of its block (RFC 9639, 8.2). */
const STREAMINFO_AT = 17;
const STREAMINFO_BYTES = 34;
const LAST_BLOCK = 0x80;

/** @param identification the stream's first packet (RFC 9639, 10.1) */
export function flacTrack(identification: Buffer): Mp4Track {
  const info = Buffer.from(identification.subarray(STREAMINFO_AT, STREAMINFO_AT + STREAMINFO_BYTES));
  // Facts of a whole file, of no use here: frame sizes, number of samples, checksum.
  info.fill(0, 4, 10);
  info[13] = info[13]! & 0xf0;
  info.fill(0, 14);
  const sampleRate = info.readUIntBE(10, 3) >> 4;
  const channels = ((info[12]! >> 1) & 7) + 1;
  const bits = (((info[12]! & 1) << 4) | (info[13]! >> 4)) + 1;
  const dfLa = fullBox('dfLa', 0, 0, Buffer.from([LAST_BLOCK, 0, 0, STREAMINFO_BYTES]), info);
  const entry = sampleEntry('fLaC', { channels, bits, sampleRate }, dfLa);
  return { sampleRate, codecs: 'fLaC', entry };
}

/** Returns the largest whole fraction of the rate that fits into a sample entry. */
function entryRate(sampleRate: number): number {
  let parts = Math.ceil(sampleRate / MAX_ENTRY_RATE);
  while (sampleRate % parts !== 0) parts++;
  return sampleRate / parts;
}

interface EntryFacts {
  readonly channels: number;
  readonly bits: number;
  readonly sampleRate: number;
}

/** ISO 14496-12, 12.2.3. */
function sampleEntry(type: string, { channels, bits, sampleRate }: EntryFacts, config: Buffer): Buffer {
  const rate = u32(entryRate(sampleRate) * 0x1_0000);
  return box(type, Buffer.alloc(6), u16(1), Buffer.alloc(8), u16(channels, bits, 0, 0), rate, config);
}
