/**
 * A front with the encoder services and stubs of three channels, which accept any number of admitted encoders and keep their audio. For
 * transcripts at every split point and for the fuzzer, over real sockets or without any (Pipe).
 */

import { createHash } from 'node:crypto';
import http from 'node:http';
import type net from 'node:net';
import { Duplex } from 'node:stream';
import { plainPath } from '../../src/base/request-target.js';
import type { EncoderMount, EncoderSlot } from '../../src/channel/mount.js';
import { EncoderAcceptor } from '../../src/http/ingest/encoder-acceptor.js';
import { EncoderAdmission } from '../../src/http/ingest/encoder-admission.js';
import type { ProvenEncoder } from '../../src/http/ingest/proven.js';
import { RefusalPace } from '../../src/http/ingest/refusal-pace.js';
import { ReturningEncoders } from '../../src/http/ingest/returning.js';
import { ShoutcastAcceptor } from '../../src/http/ingest/shoutcast.js';
import { ShoutcastAdmission } from '../../src/http/ingest/shoutcast-admission.js';
import { TitleUpdateAcceptor } from '../../src/http/ingest/title-acceptor.js';
import type { EncoderVerdict } from '../../src/http/ingest/verdict.js';
import { NO_HEADERS } from '../../src/http/legacy.js';
import { Proxies } from '../../src/net/front/client-address.js';
import { Connections } from '../../src/net/front/connections.js';
import { Front } from '../../src/net/front/front.js';
import { SecretGate } from '../../src/net/limits/secret-gate.js';
import type { BodyState } from '../../src/source/body.js';
import { bodyOf } from '../../src/source/dechunk.js';
import { FakeClock } from './clock.js';

/** Channel → its password. `twin` and `other` share one. */
export const PASSWORDS: Readonly<Record<string, string>> = { live: 'hackme', twin: 'both', other: 'both' };
/** Possible answers of the services and of the stub behind the front. */
export const ANSWERS =
  /^(HTTP\/1\.1 100 Continue\r\n\r\n|HTTP\/1\.0 (200|400|401|403|404|409|415|429|501) [\s\S]*|HTTP\/1\.1 4\d\d [\s\S]*|OK2\r\nicy-caps:11\r\n\r\n|invalid password\r\n|Z\0\x10\x09\0[\s\S]NAK:[^\0]*\0)?$/;

export interface Fed {
  readonly channel: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly socket: net.Socket;
  /** Its audio so far, without framing. */
  audio: Buffer;
  state: BodyState;
}

export interface Judged {
  readonly status: number;
  readonly path: string;
  readonly why: string;
}

/** A table with room for all connections. */
export function roomyTable(): Connections {
  return new Connections({
    connections: 10_000,
    perAddress: 10_000,
    reserved: 0,
    isShared: () => true,
    onRefused: () => undefined,
  });
}

export class FrontHarness {
  readonly front: Front;
  readonly fed: Fed[] = [];
  /** For the waiting secret checks. */
  readonly clock = new FakeClock();
  readonly gate: SecretGate;
  readonly judged: Judged[] = [];
  busy = false;
  readonly #given = new WeakSet<net.Socket>();
  readonly #http: http.Server;
  readonly #encoders: EncoderAcceptor;
  readonly #shoutcast: ShoutcastAcceptor;
  readonly #titles: TitleUpdateAcceptor;
  readonly #encoderAdmission: EncoderAdmission;
  readonly #shoutcastAdmission: ShoutcastAdmission;

  constructor(headMs = 5000, wrongSecretsPerMinute = 1_000_000, secretQueue = 0) {
    const limits = {
      perMinute: wrongSecretsPerMinute,
      inAllPerMinute: 1_000_000,
      maxOfOrigin: secretQueue,
      remembered: 10,
    };
    this.gate = new SecretGate(this.clock, limits);
    const mounts = new Map(Object.keys(PASSWORDS).map((channel) => [`/${channel}`, this.#mount(channel)]));
    const options = {
      headBytes: 8192,
      headLines: 64,
      headMs,
      server: 'airsplice',
      gate: this.gate,
      connections: roomyTable(),
      proxies: new Proxies([], 'x-forwarded-for'),
      blocks: { has: () => false },
      pace: new RefusalPace(this.clock, { perMinute: 1_000_000, remembered: 10 }),
      returning: new ReturningEncoders(this.clock),
      mountAt: (path: string) => mounts.get(plainPath(path)),
      hookOf: () => null,
      onProven: (encoder: ProvenEncoder) => this.#admit(encoder),
      onAdmitted: () => undefined,
      onVerdict: ({ status, path, why }: EncoderVerdict) => void this.judged.push({ status, path, why }),
    };
    const encoderMounts = [...mounts.values()];
    this.#encoders = new EncoderAcceptor({ ...options, encoderMounts });
    this.#shoutcast = new ShoutcastAcceptor({ ...options, encoderMounts });
    this.#titles = new TitleUpdateAcceptor(options);
    this.#encoderAdmission = new EncoderAdmission(options);
    this.#shoutcastAdmission = new ShoutcastAdmission(options);
    const refuseAll: http.RequestListener = (_, response) => response.writeHead(404, { Connection: 'close' }).end();
    // As in the router: no 100 for a refused request.
    this.#http = http.createServer(refuseAll).on('checkContinue', refuseAll);
    this.#http.on('connection', (socket: net.Socket) => this.#given.add(socket));
    this.front = new Front({
      host: '127.0.0.1',
      port: 0,
      headMs,
      connections: roomyTable(),
      watchdog: this.clock.watchdog,
      http: this.#http,
      onEncoder: (socket, first) => this.#encoders.take(socket, first),
      onTitleUpdate: this.#titles.at(this.#http, NO_HEADERS),
      onShoutcast: (socket, first) => this.#shoutcast.take(socket, first),
    });
  }

  /** Whether the socket now belongs to a channel or the HTTP server. */
  hasGivenAway(socket: net.Socket): boolean {
    return this.#given.has(socket);
  }

  async close(): Promise<void> {
    this.#encoders.close();
    this.#shoutcast.close();
    this.#titles.close();
    this.#shoutcastAdmission.close();
    for (const { socket } of this.fed) socket.destroy();
    this.#http.closeAllConnections();
    await this.front.close();
  }

  #admit(encoder: ProvenEncoder): void {
    const place = this.#place(encoder.channel);
    if (encoder.kind === 'http') this.#encoderAdmission.take(encoder, place);
    else this.#shoutcastAdmission.take(encoder, place);
  }

  #mount(channel: string): EncoderMount {
    const sha256 = createHash('sha256').update(PASSWORDS[channel]!).digest();
    return {
      channelKey: channel,
      hasPassword: (given) => given.equals(sha256),
      hasUser: (user) => user === 'source' || user === 'dj',
      authorizes: (user, password) => user === 'source' && password === PASSWORDS[channel],
      charset: 'windows-1252',
      takesTitles: false,
      sendTitle: async () => false,
    };
  }

  #place(channel: string): EncoderSlot {
    const harness = this;
    return {
      channelKey: channel,
      get isBusy() {
        return harness.busy;
      },
      agent: '',
      quietMs: 0,
      attach: (socket, first, { headers }) => {
        const fed: Fed = { channel, headers, socket, audio: Buffer.alloc(0), state: 'more' };
        const body = bodyOf(headers);
        this.fed.push(fed);
        this.#given.add(socket);
        socket.on('data', (chunk: Buffer) => {
          if (fed.state !== 'more') return;
          body?.push(chunk, { onAudio: (piece) => void (fed.audio = Buffer.concat([fed.audio, piece])) });
          fed.state = body?.state ?? 'broken';
        });
        socket.on('end', () => socket.destroy());
        if (first.length > 0) socket.unshift(first);
        socket.resume();
      },
    };
  }
}

/** A connection without a network, with the client's bytes in pieces, and the answer so far. */
export class Pipe extends Duplex {
  readonly remoteAddress: string;
  readonly remotePort = 1;
  readonly localPort = 1;
  received = '';
  readonly #pieces: Buffer[];
  readonly #ending: 'fin' | 'reset' | 'never';

  constructor(pieces: readonly Buffer[], ending: 'fin' | 'reset' | 'never', remoteAddress = '192.0.2.1') {
    super({ allowHalfOpen: true });
    this.remoteAddress = remoteAddress;
    this.#pieces = [...pieces];
    this.#ending = ending;
  }

  override _read(): void {
    const piece = this.#pieces.shift();
    setImmediate(() => {
      if (this.destroyed) return;
      if (piece !== undefined) this.push(piece);
      else if (this.#ending === 'fin') this.push(null);
      else if (this.#ending === 'reset') this.destroy(new Error('reset'));
    });
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.received += chunk.toString('latin1');
    done();
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  resetAndDestroy(): this {
    return this.destroy();
  }

  get bytesWritten(): number {
    return this.received.length + this.writableLength;
  }

  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.end(() => this.destroy());
  }

  /** Whether all pieces have been read. */
  get isSpent(): boolean {
    return this.#pieces.length === 0 && this.readableLength === 0;
  }

  get socket(): net.Socket {
    return this as unknown as net.Socket;
  }
}
