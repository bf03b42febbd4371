/**
 * Audio whose frames contain the number of their source and their own: MP3 and AAC (ADTS), 128 kb/s, 44.1 kHz. An encoder, upstreams and files send
 * it; a reader compares each byte, and splits it into runs of consecutive frames of one source.
 */

import { writeFileSync } from 'node:fs';
import net from 'node:net';
import type { Test } from 'tap';
import { readFilled } from './adts.js';
import { until } from './until.js';
import { Upstream } from './upstream.js';

export type StampedCodec = 'mp3' | 'aac';
export const TYPES: Readonly<Record<StampedCodec, string>> = { mp3: 'audio/mpeg', aac: 'audio/aac' };

/** Length of a frame; the same for all frames of a codec. */
const BYTES = { mp3: 417, aac: 372 } as const;
/** Offset of the frame's number, after the side information of MP3, which may be zeroed; the source's number follows. */
const NUMBER_AT = { mp3: 36, aac: 8 } as const;
export const FRAME_MS = { mp3: (1152 * 1000) / 44_100, aac: (1024 * 1000) / 44_100 } as const;
const HEADS = { mp3: 'fffb9064', aac: 'fff150802e9ffc21' } as const;
const ID3_HEADER_BYTES = 10;
const TICK_MS = 50;
/** Frames that upstreams send at once. */
const BURST_FRAMES = 20;

/** Frames of each codec differ from their neighbours in every byte. */
export function stampedFrame(codec: StampedCodec, source: number, n: number): Buffer {
  const frame = Buffer.alloc(BYTES[codec]);
  const at = NUMBER_AT[codec];
  for (let i = at + 8; i < frame.length; i++) frame[i] = (n * 31 + source * 17 + i * 7) & 0x7f;
  frame.write(HEADS[codec], 'hex');
  frame.writeUInt32BE(n, at);
  frame.writeUInt32BE(source, at + 4);
  return frame;
}

function frames(codec: StampedCodec, source: number, from: number, to: number): Buffer {
  return Buffer.concat(Array.from({ length: Math.max(0, to - from) }, (_, i) => stampedFrame(codec, source, from + i)));
}

/** Writes a file with this number of frames, from 0 on. */
export function writeStamped(path: string, codec: StampedCodec, source: number, count: number): void {
  writeFileSync(path, frames(codec, source, 0, count));
}

/** Sends the frames that are due on a connection. */
class StampedSender {
  sent: number;
  readonly #bornMs = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor(socket: net.Socket, codec: StampedCodec, source: number, first: number, ahead: number) {
    this.sent = first;
    const send = () => {
      const due = first + ahead + Math.floor((performance.now() - this.#bornMs) / FRAME_MS[codec]);
      if (due <= this.sent || !socket.writable) return;
      socket.write(frames(codec, source, this.sent, due));
      this.sent = due;
    };
    this.#timer = setInterval(send, TICK_MS);
    socket.on('close', () => clearInterval(this.#timer));
    send();
  }
}

/** An encoder that sends frames of one source from 0 on, in real time, until its connection ends. */
export class StampedEncoder {
  readonly source: number;
  closed = false;
  answer = '';
  readonly socket: net.Socket;

  constructor(t: Test, port: number, path: string, password: string, codec: StampedCodec, source: number) {
    this.source = source;
    const login = Buffer.from(`source:${password}`).toString('base64');
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('error', () => undefined);
    this.socket.on('data', (chunk) => {
      this.answer += chunk.toString('latin1');
      if (this.isTaken && !this.#isSending) {
        this.#isSending = true;
        new StampedSender(this.socket, codec, source, 0, BURST_FRAMES);
      }
    });
    this.socket.on('close', () => {
      this.closed = true;
    });
    this.socket.write(`PUT ${path} HTTP/1.1\r\nAuthorization: Basic ${login}\r\nContent-Type: ${TYPES[codec]}\r\n\r\n`);
    t.teardown(() => this.socket.destroy());
  }
  #isSending = false;

  get isTaken(): boolean {
    return this.answer.startsWith('HTTP/1.0 200') || this.answer.startsWith('HTTP/1.1 200');
  }

  /** Resolves when the server has accepted it. */
  taken(): Promise<void> {
    return until(
      () => this.isTaken,
      5000,
      () => this.answer,
    );
  }

  get status(): number {
    return Number(this.answer.split(' ')[1] ?? 0);
  }
}

/**
 * Endless upstreams at `/CODEC/ANYTHING`, each connection with its own source number, and `/dead…`, which refuses.
 * @param onSource returns the source number of a connection
 */
export async function openUpstream(t: Test, onSource: (path: string) => number): Promise<Upstream> {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket, head) => {
    const path = head.split(' ')[1]!;
    const codec = path.split('/')[1] as StampedCodec;
    if (!(codec in TYPES)) return void socket.end('HTTP/1.0 404 Not Found\r\n\r\n');
    socket.write(`HTTP/1.0 200 OK\r\nContent-Type: ${TYPES[codec]}\r\n\r\n`);
    new StampedSender(socket, codec, onSource(path), 0, BURST_FRAMES);
  };
  return upstream;
}

export interface StampedRun {
  readonly source: number;
  readonly first: number;
  last: number;
}

/** Reads what a listener received. */
export class StampedReader {
  readonly runs: StampedRun[] = [];
  /** The first fault; '': none. */
  fault = '';
  readonly #codec: StampedCodec;
  /** File's source number → frames; files begin again after the last one. */
  readonly #lengths: ReadonlyMap<number, number>;
  #held: Buffer = Buffer.alloc(0);

  constructor(codec: StampedCodec, lengths: ReadonlyMap<number, number>) {
    this.#codec = codec;
    this.#lengths = lengths;
  }

  /** Number of bytes of an incomplete frame. */
  get leftover(): number {
    return this.#held.length;
  }

  /** @param chunk the next bytes of audio, of any length */
  feed(chunk: Uint8Array): void {
    if (this.fault !== '') return;
    let bytes: Buffer = this.#held.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#held, chunk]);
    while (this.fault === '') {
      const tag = this.#codec === 'mp3' ? this.#tagBytes(bytes) : 0;
      const next = tag === undefined ? undefined : this.#nextFrame(bytes.subarray(tag));
      if (tag === undefined || next === undefined) break;
      this.#take(next.frame);
      bytes = bytes.subarray(tag + next.bytes);
    }
    this.#hold(bytes);
  }

  /**
   * Length of a tag, which replaces the rest of a frame at the start, or after a move from another tape (src/audio/tape/entry.ts).
   * Undefined: incomplete.
   */
  #tagBytes(bytes: Buffer): number | undefined {
    if (bytes.length < ID3_HEADER_BYTES) return undefined;
    const tag = bytes.toString('latin1', 0, 3) === 'ID3' ? ID3_HEADER_BYTES + bytes[8]! * 128 + bytes[9]! : 0;
    return bytes.length < tag ? undefined : tag;
  }

  /** The next frame; fill elements may extend one of AAC, instead of a tag. Undefined: incomplete. */
  #nextFrame(bytes: Buffer): { readonly frame: Buffer; readonly bytes: number } | undefined {
    const length = BYTES[this.#codec];
    if (bytes.length < length) return undefined;
    if (this.#codec === 'mp3') return { frame: bytes.subarray(0, length), bytes: length };
    const whole = (bytes.readUIntBE(3, 3) % 2 ** 18) >> 5;
    if (whole <= length) return { frame: bytes.subarray(0, length), bytes: length };
    if (bytes.length < whole) return undefined;
    const { block } = readFilled(bytes.subarray(0, whole));
    return { frame: Buffer.concat([Buffer.from(HEADS.aac, 'hex').subarray(0, 7), block]), bytes: whole };
  }

  #take(frame: Buffer): void {
    const at = NUMBER_AT[this.#codec];
    const [n, source] = [frame.readUInt32BE(at), frame.readUInt32BE(at + 4)];
    const run = this.runs.at(-1);
    if (!frame.equals(stampedFrame(this.#codec, source, n))) {
      const behind = run === undefined ? 'at the start' : `behind frame ${run.last} of ${run.source}`;
      this.fault = `no frame ${behind}: ${frame.toString('hex', 0, 48)}`;
    } else if (run !== undefined && source === run.source && n === this.#after(run)) run.last = n;
    else this.runs.push({ source, first: n, last: n });
  }

  #after({ source, last }: StampedRun): number {
    const length = this.#lengths.get(source);
    return length === undefined ? last + 1 : (last + 1) % length;
  }

  #hold(bytes: Buffer): void {
    this.#held = Buffer.from(bytes);
  }
}
