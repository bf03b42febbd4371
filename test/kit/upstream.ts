/**
 * Upstream servers on loopback, on bare sockets with answers from each test, and a pulled source whose input keeps its audio and the places of
 * titles.
 */

import { lookup } from 'node:dns';
import net from 'node:net';
import type { Test } from 'tap';
import type { Frame } from '../../src/audio/frames/frame.js';
import { type Clock, SystemClock } from '../../src/base/clock.js';
import { Target } from '../../src/net/outbound/target.js';
import { type PullOptions, PullSource } from '../../src/source/pull-source.js';
import type { SourceInput } from '../../src/source/source.js';
import type { Random } from './random.js';

/** MPEG 1 layer III, 128 kb/s, 44.1 kHz, without padding and bit reservoir. */
export const FRAME_BYTES = 417;

export function audioOf(random: Random, frames: number): Buffer {
  const bytes = random.bytes(frames * FRAME_BYTES);
  for (let i = 0; i < frames; i++) bytes.set([0xff, 0xfb, 0x90, 0x64, 0, 0], i * FRAME_BYTES);
  return bytes;
}

export function block(text: string | Buffer): Buffer {
  const bytes = Buffer.from(text);
  const out = Buffer.alloc(1 + Math.ceil(bytes.length / 16) * 16);
  out[0] = (out.length - 1) / 16;
  bytes.copy(out, 1);
  return out;
}

/** Audio with a block after every `metaint` bytes; `texts`: number of a block, from 0 → its text. */
export function icyBody(audio: Buffer, metaint: number, texts: ReadonlyMap<number, string | Buffer>): Buffer {
  const parts: Buffer[] = [];
  for (let i = 0; (i + 1) * metaint <= audio.length; i++) {
    parts.push(audio.subarray(i * metaint, (i + 1) * metaint), block(texts.get(i) ?? ''));
  }
  parts.push(audio.subarray(Math.floor(audio.length / metaint) * metaint));
  return Buffer.concat(parts);
}

export const streamHead = (metaint = 0) =>
  `HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\n${metaint > 0 ? `icy-metaint: ${metaint}\r\n` : ''}\r\n`;

/** A server whose answer is a function; it keeps the sockets and the received heads. */
export class Upstream {
  readonly sockets: net.Socket[] = [];
  readonly requestHeads: string[] = [];
  answer: (socket: net.Socket, head: string) => void = () => undefined;
  port = 0;
  readonly #server = net.createServer({ noDelay: true }, (socket) => {
    this.sockets.push(socket);
    let head = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1');
      if (!head.endsWith('\r\n\r\n')) return;
      this.requestHeads.push(head);
      this.answer(socket, head);
    });
  });

  static async open(t: Test): Promise<Upstream> {
    const upstream = new Upstream();
    await new Promise<void>((done) => upstream.#server.listen(0, '127.0.0.1', done));
    upstream.port = (upstream.#server.address() as net.AddressInfo).port;
    t.teardown(() => upstream.close());
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/live`;
  }

  get openSockets(): number {
    return this.sockets.filter((socket) => !socket.destroyed).length;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((done) => this.#server.close(done));
  }
}

export class Tap implements SourceInput {
  readonly dueMs = Number.NEGATIVE_INFINITY;
  readonly aheadMs = 0;
  readonly parts: Buffer[] = [];
  /** Numbers of the frames that do not continue the previous ones. */
  readonly freshAt: number[] = [];
  audioBytes = 0;
  audioMs = 0;
  lastMs = 0;
  longestGapMs = 0;
  readonly titles: { line: string; atByte: number }[] = [];
  readonly losses: string[] = [];
  /** Delays each title. */
  hold: () => Promise<void> = () => Promise.resolve();

  onFrame({ bytes, durationMs, fresh }: Frame): number {
    const nowMs = performance.now();
    if (this.lastMs > 0) this.longestGapMs = Math.max(this.longestGapMs, nowMs - this.lastMs);
    this.lastMs = nowMs;
    if (fresh) this.freshAt.push(this.parts.length);
    this.parts.push(Buffer.from(bytes));
    this.audioBytes += bytes.length;
    this.audioMs += durationMs;
    return 0;
  }
  onTitle(line: string): Promise<void> {
    this.titles.push({ line, atByte: this.audioBytes });
    return this.hold();
  }
  onLost(reason: string): void {
    this.losses.push(reason);
  }
  get bytes(): Buffer {
    return Buffer.concat(this.parts);
  }
}

const DEFAULTS: Omit<PullOptions, 'targets'> = {
  channel: 'live',
  connectTimeoutMs: 5000,
  stallMs: 5000,
  returnMs: 60_000,
  retryMinMs: 50,
  retryMaxMs: 100,
  aheadMs: 1_000_000,
  lookup,
  ca: undefined,
  headBytes: 16_384,
  framelessBytes: 65_536,
  facts: { textBytes: 1024, urlBytes: 4096 },
  redirects: 5,
  playlistBytes: 65_536,
  playlistEntries: 8,
  playlistDepth: 2,
  onPlaying: () => undefined,
  onFailed: () => undefined,
};

export interface PullSetup extends Partial<PullOptions> {
  readonly allowPrivate?: boolean;
  readonly authorization?: string;
}

/** A source that pulls from these URLs (or upstreams), and its input. */
export function setUp(
  t: Test,
  from: { readonly url: string } | readonly { readonly url: string }[],
  options: PullSetup = {},
  clock: Clock = new SystemClock(),
) {
  const tap = new Tap();
  const { allowPrivate = false, authorization, ...rest } = options;
  const targets = [from].flat().map(({ url }) => Target.named(url, authorization, allowPrivate));
  const source = new PullSource(tap, clock, { targets, ...DEFAULTS, ...rest });
  t.teardown(() => {
    source.stop();
    if (clock instanceof SystemClock) clock.stop();
  });
  return { tap, source };
}

/** A server's channel `relay` that pulls from here. */
export const relayYaml = (url: string, options = '', rest = '') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { startTimeoutSeconds: 1, lagSeconds: 60 }
sources: { aheadSeconds: 60, stallMs: 20000 }
${rest}
stations:
  demo:
    channels:
      relay:
        mounts: [/relay.mp3]
        metaint: 8000
        pushTokens: [relay-token]
        sources: [{ type: pull, url: '${url}', retrySeconds: { min: 0.1, max: 0.2 }${options} }]
`;

/** The same for listeners that must be served, however busy the machine is. */
export const patientRelayYaml = (...given: Parameters<typeof relayYaml>): string =>
  relayYaml(...given).replace('startTimeoutSeconds: 1', 'startTimeoutSeconds: 30');

/** Whether the source of that channel is on air. */
export async function isOnAir(base: string): Promise<boolean> {
  return /^airsplice_source_heard\{.*\} 1$/m.test(await (await fetch(`${base}/metrics`)).text());
}
