/**
 * An encoder for tests: PUT on a bare socket, with real frames of the demo. It keeps the frames that it sent, so that they can be compared with
 * those of listeners.
 */

import { readFileSync } from 'node:fs';
import net from 'node:net';
import type { Test } from 'tap';
import { Framer } from '../../src/audio/frames/framer.js';
import { DEMO_AUDIO, knownEverywhere } from './server.js';
import { until } from './until.js';

/** Copies of all frames in the bytes, and the number of bytes outside of frames. */
export function framesIn(bytes: Buffer): { frames: Buffer[]; skippedBytes: number } {
  const frames: Buffer[] = [];
  const framer = new Framer({ onFrame: ({ bytes: frame }) => void frames.push(Buffer.from(frame)) });
  framer.push(bytes);
  return { frames, skippedBytes: framer.counters.skippedBytes };
}

/** 128 kb/s, 44.1 kHz, stereo: 26 ms each. */
export const DEMO_FRAMES: readonly Buffer[] = framesIn(readFileSync(DEMO_AUDIO)).frames;

export class Feeder {
  readonly socket: net.Socket;
  answer = '';
  ended = false;
  closed = false;
  /** The frames to send, over and over. */
  frames: readonly Buffer[];
  #at: number;

  /** @param headers lines that end with CRLF @param from index of the first frame to send */
  constructor(
    t: Test,
    port: number,
    path: string,
    options: { headers?: string; password?: string; from?: number; frames?: readonly Buffer[] } = {},
  ) {
    this.#at = options.from ?? 0;
    this.frames = options.frames ?? DEMO_FRAMES;
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('data', (chunk) => {
      this.answer += chunk.toString('latin1');
    });
    this.socket.on('error', () => undefined);
    this.socket.on('end', () => {
      this.ended = true;
    });
    this.socket.on('close', () => {
      this.closed = true;
    });
    t.teardown(() => this.socket.destroy());
    const login = Buffer.from(`source:${options.password ?? 'demo-source'}`).toString('base64');
    const headers = options.headers ?? 'Content-Type: audio/mpeg\r\n';
    this.socket.write(Buffer.from(`PUT ${path} HTTP/1.1\r\nAuthorization: Basic ${login}\r\n${headers}\r\n`, 'latin1'));
  }

  get status(): number {
    return Number(this.answer.split(' ')[1] ?? 0);
  }

  async answered(): Promise<number> {
    await until(
      () => this.answer.includes('\r\n\r\n'),
      10_000,
      () => `no answer: ${JSON.stringify(this.answer)}`,
    );
    await knownEverywhere();
    return this.status;
  }

  /** Sends the next frames at once. Returns them. */
  send(count: number): Buffer[] {
    const frames = Array.from({ length: count }, () => this.frames[this.#at++ % this.frames.length]!);
    this.socket.write(Buffer.concat(frames));
    return frames;
  }

  /** Sends in real time until it is closed. @param frames per write */
  stream(t: Test, frames = 4): this {
    const sending = setInterval(() => this.socket.writable && this.send(frames), 26 * frames);
    const stop = () => clearInterval(sending);
    this.socket.on('close', stop);
    t.teardown(stop);
    return this;
  }

  async over(): Promise<void> {
    await until(
      () => this.closed,
      10_000,
      () => 'the encoder is still connected',
    );
  }
}
