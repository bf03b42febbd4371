/**
 * The codec of an Ogg stream (Vorbis, Opus or FLAC), recognized by its first packet, and the playing time of each packet.
 * Vorbis I specification, sections 4.2 and 4.3.8; RFC 7845 and RFC 6716, section 3.1; FLAC's Ogg mapping and RFC 9639, section 9.1.
 *
 * Claims of headers are believed only within the limits of the codec and of what listeners need: a packet that claims to play for an hour would
 * hold its source for an hour.
 *
 * Pure but for PacketClock: a Vorbis packet plays half of the one before and half of itself, so the clock remembers one. Owned by a framer.
 */

export type OggCodec = 'vorbis' | 'opus' | 'flac';

export interface OggFacts {
  readonly codec: OggCodec;
  /** The rate of granule positions: Opus counts at 48 kHz, whatever the input. */
  readonly sampleRate: number;
  readonly channels: number;
}

const VORBIS_HEADER_BYTES = 30;
const OPUS_HEADER_BYTES = 19;
/** The mapping's own 9 bytes, "fLaC", a block's header and STREAMINFO. */
const FLAC_HEADER_BYTES = 51;

/** Hz: the telephone's rate, the lowest of encoders of Vorbis and Opus, and of streams of FLAC. */
const MIN_RATE = 8000;
/** The highest that libvorbis takes is 200,000; a frame of FLAC can say 655,350 (RFC 9639, section 9.1.2). */
const MAX_RATES: Record<OggCodec, number> = { vorbis: 200_000, opus: 48_000, flac: 655_350 };
/** Vorbis I specification, section 4.2.2: the powers of 2 from 64 to 8,192. */
const MIN_BLOCK_BITS = 6;
const MAX_BLOCK_BITS = 13;
/** RFC 9639, section 8.2. */
const MIN_FLAC_BLOCK = 16;
/** Maximum duration of one frame of FLAC. The streamable subset has 16,384 samples at most: 0.34 s at 48 kHz, 2.05 s at 8 kHz. */
const MAX_FLAC_SECONDS = 2.1;
/** A setup header of libvorbis has 3 to 8 KB. It is sent to every listener with every title. */
const MAX_SETUP_BYTES = 64 * 1024;

/** The facts of a stream, by its first packet; null: unknown, or impossible. */
export function readIdentification(packet: Buffer): OggFacts | null {
  const facts = readFacts(packet);
  if (facts === null || facts.channels === 0) return null;
  return facts.sampleRate >= MIN_RATE && facts.sampleRate <= MAX_RATES[facts.codec] ? facts : null;
}

function readFacts(packet: Buffer): OggFacts | null {
  const text = packet.toString('latin1', 0, 8);
  if (text.startsWith('\x01vorbis') && packet.length >= VORBIS_HEADER_BYTES) {
    const [short, long] = [packet[28]! & 15, packet[28]! >> 4];
    if (packet.readUInt32LE(7) !== 0 || short < MIN_BLOCK_BITS || long < short || long > MAX_BLOCK_BITS) return null;
    return { codec: 'vorbis', sampleRate: packet.readUInt32LE(12), channels: packet[11]! };
  }
  if (text === 'OpusHead' && packet.length >= OPUS_HEADER_BYTES) {
    // A change in the upper four bits of the version is incompatible (RFC 7845, section 5.1).
    return packet[8]! > 15 ? null : { codec: 'opus', sampleRate: 48_000, channels: packet[9]! };
  }
  if (text.startsWith('\x7fFLAC') && packet.length === FLAC_HEADER_BYTES) {
    const [least, most] = [packet.readUInt16BE(17), packet.readUInt16BE(19)];
    if (least < MIN_FLAC_BLOCK || most < least) return null;
    return { codec: 'flac', sampleRate: packet.readUIntBE(27, 3) >> 4, channels: ((packet[29]! >> 1) & 7) + 1 };
  }
  return null;
}

/**
 * Adds the next packet to a link's header packets, unless it is not wanted. Wanted are, of Vorbis: identification, comments, setup; of Opus and
 * FLAC: the first two of these. An empty packet stands for one that was too large to keep.
 */
export function nextHeader(codec: OggCodec, headers: Buffer[], packet: Buffer): 'more' | 'complete' | 'wrong' {
  const text = packet.toString('latin1', 0, 8);
  if (codec === 'flac') {
    if (packet[0] === 0xff) return 'wrong'; // audio already
    const type = packet.length === 0 ? -1 : packet[0]! & 0x7f;
    if (headers.length === 1 && type === 4) headers.push(Buffer.from(packet));
    if (packet.length === 0 || packet[0]! < 0x80) return 'more';
    if (headers.length === 1) headers.push(Buffer.alloc(0));
    return 'complete';
  }
  const begin = codec === 'opus' ? 'OpusTags' : headers.length === 1 ? '\x03vorbis' : '\x05vorbis';
  if (headers.length === 2 && packet.length > MAX_SETUP_BYTES) return 'wrong';
  if (!text.startsWith(begin) && !(packet.length === 0 && headers.length === 1)) return 'wrong';
  headers.push(Buffer.from(packet));
  return headers.length === (codec === 'opus' ? 2 : 3) ? 'complete' : 'more';
}

/** Bytes of an unpacked 32-bit sample, and of everything in a packet beside samples. */
const MAX_SAMPLE_BYTES = 4;
const MAX_OVERHEAD_BYTES = 1024;

/** Counts the samples per channel of consecutive packets. */
export class PacketClock {
  readonly #codec: OggCodec;
  readonly #sizes: readonly [number, number];
  /** By mode of Vorbis: whether its block is a long one. */
  readonly #modes: readonly boolean[];
  readonly #modeMask: number;
  /** FLAC: samples of the largest block, by its header and MAX_FLAC_SECONDS. */
  readonly #maxSamples: number;
  /** The most bytes that a sample of all channels may take. */
  readonly #sampleBytes: number;
  /** Vorbis: samples of the block before the next packet; 0: there is none. */
  lastSize = 0;

  /** @param headers the header packets, the first one first */
  constructor(codec: OggCodec, headers: readonly Buffer[]) {
    this.#codec = codec;
    const { channels, sampleRate } = readIdentification(headers[0]!)!;
    this.#sampleBytes = channels * MAX_SAMPLE_BYTES;
    this.#maxSamples = codec === 'flac' ? Math.min(headers[0]!.readUInt16BE(19), sampleRate * MAX_FLAC_SECONDS) : 0;
    const sizes = codec === 'vorbis' ? headers[0]![28]! : 0;
    this.#sizes = [1 << (sizes & 15), 1 << (sizes >> 4)];
    this.#modes = codec === 'vorbis' ? vorbisModes(headers[2]!) : [];
    this.#modeMask = (1 << (32 - Math.clz32(Math.max(0, this.#modes.length - 1)))) - 1;
  }

  /** A gap or a start: the next packet has none before it. */
  cut(): void {
    this.lastSize = 0;
  }

  /** How many samples this packet plays; -1: it is not an audio packet of this codec. */
  samples(packet: Buffer): number {
    if (packet.length === 0) return -1;
    if (this.#codec === 'opus') return opusSamples(packet);
    return this.#codec === 'flac' ? this.#flacSamples(packet) : this.#vorbisSamples(packet);
  }

  #flacSamples(packet: Buffer): number {
    const samples = flacSamples(packet);
    return samples > this.#maxSamples || this.#isTooLarge(packet, samples) ? -1 : samples;
  }

  #vorbisSamples(packet: Buffer): number {
    const first = packet[0]!;
    const isLong = this.#modes[(first >> 1) & this.#modeMask];
    if ((first & 1) === 1 || isLong === undefined) return -1;
    const size = this.#sizes[isLong ? 1 : 0];
    if (this.#isTooLarge(packet, size)) return -1;
    const samples = this.lastSize === 0 ? 0 : (this.lastSize + size) / 4;
    this.lastSize = size;
    return samples;
  }

  /** Whether it is larger than its unpacked samples: a tape is limited by playing time, and would take any number of such packets. */
  #isTooLarge(packet: Buffer, samples: number): boolean {
    return packet.length > MAX_OVERHEAD_BYTES + samples * this.#sampleBytes;
  }
}

/** By the packet's first byte: the frame's length and how many there are (RFC 6716, section 3.1). */
function opusSamples(packet: Buffer): number {
  const config = packet[0]! >> 3;
  const size =
    config < 12 ? [480, 960, 1920, 2880][config & 3]! : config < 16 ? 480 << (config & 1) : 120 << (config & 3);
  const code = packet[0]! & 3;
  if (code < 3) return code === 0 ? size : size * 2;
  const samples = packet.length < 2 ? 0 : size * (packet[1]! & 63);
  return samples > 0 && samples <= 5760 ? samples : -1;
}

/** By the frame's header: a code, or the number behind the frame's own (RFC 9639, section 9.1.1). */
function flacSamples(packet: Buffer): number {
  if (packet.length < 8 || packet[0] !== 0xff || (packet[1]! & 0xfe) !== 0xf8) return -1;
  const code = packet[2]! >> 4;
  if (code === 0) return -1;
  if (code === 1) return 192;
  if (code < 6) return 576 << (code - 2);
  if (code >= 8) return 256 << (code - 8);
  const ones = Math.clz32(~(packet[4]! << 24));
  const at = 4 + Math.max(1, ones);
  if (at + 2 > packet.length) return -1;
  return code === 6 ? packet[at]! + 1 : packet.readUInt16BE(at) + 1;
}

/**
 * Which modes of Vorbis have long blocks, by the end of the setup header, as only a decoder can parse it from its start: for each 1 bit of size, 2 ×
 * 16 bits that are 0, 8 bits of mapping; before the first, 6 bits with their number minus one. The largest that fits counts. Empty: none fits.
 */
function vorbisModes(setup: Buffer): boolean[] {
  const bit = (at: number) => (setup[at >> 3]! >> (at & 7)) & 1;
  const bits = (at: number, count: number) => {
    let value = 0;
    for (let i = count - 1; i >= 0; i--) value = value * 2 + bit(at + i);
    return value;
  };
  let end = setup.length * 8 - 1;
  while (end > 0 && bit(end) === 0) end--; // the framing bit is the last one set
  const found: boolean[] = [];
  let modes: boolean[] = [];
  for (let at = end - 41; at >= 6 && found.length < 64; at -= 41) {
    if (bits(at + 1, 32) !== 0 || bits(at + 33, 8) >= 64) break;
    found.unshift(bit(at) === 1);
    if (bits(at - 6, 6) + 1 === found.length) modes = [...found];
  }
  return modes;
}
