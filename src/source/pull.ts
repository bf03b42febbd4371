/**
 * A stream pulled over HTTP: another station's server, or another node of ours. ICY blocks are taken out, their titles go through
 * the one door before the audio behind them is passed on, so that each title lies on our tape where it lay on theirs.
 * Every end of the body is a loss; it tries again, backing off with jitter.
 *
 * By Node's own client: undici 7 throws where nobody can catch it when a stream ends whose body is held back (its issue 5360).
 */

import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { Framer, type FrameSink } from '../audio/frames.js';
import type { Alarm, Clock } from '../clock.js';
import { Ahead } from './ahead.js';
import { contentTypeOf } from './encoder.js';
import type { Source, SourceInput, SourceState } from './source.js';
import { IcyStripper, type Piece } from './strip.js';

const MOST_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const ICY = Buffer.from('ICY ');
const HTTP = Buffer.from('HTTP/1.0 ');
/** An upstream that sent this much since its last frame (or none) sends no audio that we know. */
const MOST_WITHOUT_FRAMES = 256 * 1024;

export interface PullOptions {
  readonly url: string;
  /** From the first packet to the end of the head, redirects and all. */
  readonly connectTimeoutMs: number;
  /** Without a byte for this long the upstream is given up. */
  readonly stallMs: number;
  /** First and longest pause before another try; each failure doubles it. */
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  readonly aheadMs: number;
}

export class PullSource implements Source, FrameSink {
  readonly kind = 'pull';
  state: SourceState = 'idle';
  readonly #input: SourceInput;
  readonly #clock: Clock;
  readonly #options: PullOptions;
  readonly #ahead: Ahead;
  #framer: Framer;
  #abort: AbortController | null = null;
  /** The next try, or the end of this one's patience. */
  #alarm: Alarm | null = null;
  #failures = 0;
  #waitMs = 0;
  #skippedAtFrame = 0;

  constructor(input: SourceInput, clock: Clock, options: PullOptions) {
    this.#input = input;
    this.#clock = clock;
    this.#options = options;
    this.#ahead = new Ahead(options.aheadMs);
    this.#framer = new Framer(this);
  }

  get contentType(): string | undefined {
    return contentTypeOf(this.#framer.codec);
  }

  start(): void {
    if (this.state !== 'idle') return;
    this.#failures = 0;
    this.#try();
  }

  stop(): void {
    this.state = 'idle';
    this.#alarm?.cancel();
    this.#abort?.abort();
    this.#abort = null;
  }

  frame(bytes: Buffer, durationMs: number, fresh: boolean): void {
    this.#failures = 0;
    this.#waitMs = this.#ahead.book(durationMs, this.#clock.now());
    this.#skippedAtFrame = this.#framer.counters.skippedBytes;
    this.#input.frame(bytes, durationMs, this.#framer.bitrateKbps, fresh);
  }

  #try(): void {
    this.state = 'starting';
    const abort = new AbortController();
    this.#abort = abort;
    this.#alarm = this.#clock.alarm(this.#clock.now() + this.#options.connectTimeoutMs, {
      ring: () => this.#lost(abort, 'the upstream does not answer'),
    });
    this.#ask(abort, this.#options.url, MOST_REDIRECTS);
  }

  #ask(abort: AbortController, url: string, redirectsLeft: number): void {
    const request = (url.startsWith('https:') ? https : http).get(url, {
      agent: false,
      signal: abort.signal,
      headers: { 'icy-metadata': '1', 'user-agent': 'airsplice', accept: '*/*', connection: 'close' },
      insecureHTTPParser: true, // some end their lines with a bare LF
    });
    request.on('socket', readIcyAsHttp);
    request.on('error', (error) => this.#lost(abort, error.message));
    request.on('response', (response) => {
      if (this.#abort !== abort) return;
      const { statusCode = 0, headers } = response;
      if (statusCode === 200) {
        this.#receive(abort, response);
        return;
      }
      response.resume().on('error', () => undefined);
      const to = REDIRECTS.has(statusCode) && redirectsLeft > 0 ? redirected(headers.location, url) : null;
      if (to === null) this.#lost(abort, `the upstream answered ${statusCode}`);
      else {
        request.destroy();
        this.#ask(abort, to, redirectsLeft - 1);
      }
    });
  }

  #receive(abort: AbortController, body: http.IncomingMessage): void {
    this.#alarm?.cancel();
    this.state = 'up';
    this.#framer = new Framer(this);
    this.#skippedAtFrame = 0;
    this.#ahead.reset();
    const stripper = new IcyStripper(Number.parseInt(String(body.headers['icy-metaint']), 10));
    body.socket.setTimeout(this.#options.stallMs, () => this.#lost(abort, 'no bytes from the upstream'));
    body.on('data', (chunk: Buffer) => this.#drain(body, stripper.pieces(chunk), abort));
    body.on('end', () => this.#lost(abort, 'the upstream closed the stream'));
    body.on('error', (error) => this.#lost(abort, error.message));
  }

  /** Passes on what lies in a chunk, in order. A title stops the flow until it is committed, and so does audio ahead of time. */
  #drain(body: http.IncomingMessage, pieces: Iterator<Piece>, abort: AbortController): void {
    const goOn = () => this.#drain(body, pieces, abort);
    for (let step = pieces.next(); !step.done; step = pieces.next()) {
      if (this.#abort !== abort) return;
      const { audio, title } = step.value;
      this.#waitMs = 0;
      if (audio !== undefined) this.#framer.push(audio);
      if (this.#framer.counters.skippedBytes - this.#skippedAtFrame > MOST_WITHOUT_FRAMES) {
        this.#lost(abort, 'no MP3 or AAC frames in what the upstream sends');
        return;
      }
      if (title === undefined && this.#waitMs === 0) continue;
      body.pause();
      body.socket.setTimeout(0); // that nothing comes while it is held back is our doing
      if (title !== undefined) void this.#input.title(title).then(goOn);
      else this.#clock.alarm(this.#clock.now() + this.#waitMs, { ring: goOn });
      return;
    }
    body.socket.setTimeout(this.#options.stallMs);
    body.resume();
  }

  #lost(abort: AbortController, reason: string): void {
    if (this.#abort !== abort) return;
    this.#abort = null;
    abort.abort();
    this.state = 'starting';
    const ceilingMs = Math.min(this.#options.retryMaxMs, this.#options.retryMinMs * 2 ** this.#failures++);
    const pauseMs = ceilingMs * (0.5 + Math.random() / 2);
    this.#alarm?.cancel();
    this.#alarm = this.#clock.alarm(this.#clock.now() + pauseMs, { ring: () => this.#try() });
    this.#input.lost(reason);
  }
}

/** Where a redirect leads; null: nowhere that we go. */
function redirected(location: string | undefined, from: string): string | null {
  const to = location !== undefined && URL.canParse(location, from) ? new URL(location, from) : null;
  return to?.protocol === 'http:' || to?.protocol === 'https:' ? to.href : null;
}

/** Old servers answer `ICY 200 OK`, which is no HTTP (protocol.md, "Pulled sources"): the first bytes are read as if it were. */
function readIcyAsHttp(socket: Socket): void {
  const push = socket.push;
  socket.push = (chunk: Buffer | null) => {
    socket.push = push;
    const icy = chunk?.subarray(0, ICY.length).equals(ICY) ?? false;
    return socket.push(icy ? Buffer.concat([HTTP, chunk!.subarray(ICY.length)]) : chunk);
  };
}
