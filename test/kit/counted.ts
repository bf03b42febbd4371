/**
 * Audio that can be checked byte by byte: frames of MPEG 1 layer III (128 kb/s, 44.1 kHz, without a bit reservoir) that contain their number, an
 * encoder that sends them in real time, and a reader that checks for holes, repeats and foreign bytes. The reader keeps two numbers and a fault
 * only, so that it may run for hours.
 */

import net from 'node:net';
import type { Test } from 'tap';
import { until } from './until.js';

const FRAME_BYTES = 417;
export const FRAME_MS = (1152 * 1000) / 44_100;
const NUMBER_AT = 36;
const ID3_HEADER_BYTES = 10;
const TICK_MS = 50;
/** Number of cached frames, which many readers compare with. */
const CACHED = 4096;
const cache: Buffer[] = [];

/** Frame `n`: its number, and bytes that differ from those of its neighbours. */
function countedFrame(n: number): Buffer {
  const made = cache[n % CACHED];
  if (made?.readUInt32BE(NUMBER_AT) === n) return made;
  const frame = Buffer.alloc(FRAME_BYTES);
  for (let i = NUMBER_AT + 4; i < FRAME_BYTES; i++) frame[i] = (n * 31 + i * 7) & 0x7f;
  frame.set([0xff, 0xfb, 0x90, 0x64]);
  frame.writeUInt32BE(n, NUMBER_AT);
  cache[n % CACHED] = frame;
  return frame;
}

/** Sends counted frames from 0 on, as many as are due, until it is stopped. */
export class CountedEncoder {
  sent = 0;
  closed = false;
  answer = '';
  readonly #socket: net.Socket;
  readonly #timer: NodeJS.Timeout;
  readonly #bornMs = performance.now();

  /** @param aheadMs audio sent at once, for a channel's burst */
  constructor(t: Test, port: number, path: string, password: string, aheadMs = 0) {
    const login = Buffer.from(`source:${password}`).toString('base64');
    this.#socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('error', () => undefined);
    this.#socket.on('data', (chunk) => {
      this.answer += chunk.toString('latin1');
    });
    this.#socket.on('close', () => {
      this.closed = true;
    });
    this.#socket.write(`PUT ${path} HTTP/1.1\r\nAuthorization: Basic ${login}\r\nContent-Type: audio/mpeg\r\n\r\n`);
    const send = () => {
      const due = Math.floor((performance.now() - this.#bornMs + aheadMs) / FRAME_MS);
      if (due <= this.sent || !this.#socket.writable) return;
      this.#socket.write(Buffer.concat(Array.from({ length: due - this.sent }, (_, i) => countedFrame(this.sent + i))));
      this.sent = due;
    };
    this.#timer = setInterval(send, TICK_MS);
    t.teardown(() => this.stop());
  }

  async answered(): Promise<void> {
    await until(
      () => this.answer.startsWith('HTTP/1.0 200'),
      10_000,
      () => `the encoder was answered ${JSON.stringify(this.answer)}`,
    );
  }

  /** Stops sending, and closes the connection. */
  stop(): void {
    clearInterval(this.#timer);
    this.#socket.destroy();
  }
}

/** The reader: each frame must follow the one before. */
export class CountedFrames {
  /** Numbers of the first and the last whole frame; -1: none yet. */
  first = -1;
  last = -1;
  /** The first fault; '': none. */
  fault = '';
  #held = Buffer.alloc(0);
  #isStart = true;

  /** @param chunk the next bytes of audio, of any length */
  feed(chunk: Uint8Array): void {
    if (this.fault !== '') return;
    let bytes: Buffer = this.#held.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#held, chunk]);
    if (this.#isStart) {
      if (bytes.length < ID3_HEADER_BYTES) return void this.#hold(bytes);
      // A tag replaces the rest of a frame that began earlier (src/audio/tape/entry.ts).
      const tag = bytes.toString('latin1', 0, 3) === 'ID3' ? ID3_HEADER_BYTES + bytes[8]! * 128 + bytes[9]! : 0;
      if (bytes.length < tag + FRAME_BYTES) return void this.#hold(bytes);
      bytes = bytes.subarray(tag);
      this.#isStart = false;
      this.first = bytes.readUInt32BE(NUMBER_AT);
      this.last = this.first - 1;
    }
    let at = 0;
    for (; bytes.length - at >= FRAME_BYTES; at += FRAME_BYTES) {
      const frame = bytes.subarray(at, at + FRAME_BYTES);
      if (!frame.equals(countedFrame(this.last + 1))) {
        const found = frame.readUInt32BE(0) === 0xfffb9064 ? `frame ${frame.readUInt32BE(NUMBER_AT)}` : 'no frame';
        this.fault = `${found} where ${this.last + 1} was due (the first was ${this.first})`;
        return;
      }
      this.last++;
    }
    this.#hold(bytes.subarray(at));
  }

  #hold(bytes: Buffer): void {
    this.#held = Buffer.from(bytes);
  }
}
