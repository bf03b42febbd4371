/**
 * A stream pulled over HTTP: another station's server, or another node of ours. ICY blocks are taken out, their titles go through
 * the one door before the audio behind them is passed on, so that each title lies on our tape where it lay on theirs.
 * Every end of the body is a loss (a FIN and a RST look alike: packages.md, undici); it tries again, backing off with jitter.
 */

import { Agent, type Dispatcher, interceptors, request } from 'undici';
import { Framer, type FrameSink } from '../audio/frames.js';
import type { Alarm, Clock } from '../clock.js';
import { Ahead } from './ahead.js';
import { contentTypeOf } from './encoder.js';
import type { Source, SourceInput, SourceState } from './source.js';
import { IcyStripper, type Piece } from './strip.js';

const MOST_REDIRECTS = 5;
/** An upstream that sent this much since its last frame (or none) sends no audio that we know. */
const MOST_WITHOUT_FRAMES = 256 * 1024;

export interface PullOptions {
  readonly url: string;
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
  readonly #agent: Dispatcher;
  readonly #ahead: Ahead;
  #framer: Framer;
  #abort: AbortController | null = null;
  #retry: Alarm | null = null;
  #failures = 0;
  #waitMs = 0;
  #skippedAtFrame = 0;

  constructor(input: SourceInput, clock: Clock, options: PullOptions) {
    this.#input = input;
    this.#clock = clock;
    this.#options = options;
    this.#ahead = new Ahead(options.aheadMs);
    this.#framer = new Framer(this);
    this.#agent = new Agent({ connect: { timeout: options.connectTimeoutMs }, pipelining: 0 }).compose(
      interceptors.redirect({ maxRedirections: MOST_REDIRECTS }),
    );
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
    this.#retry?.cancel();
    this.#retry = null;
    this.#abort?.abort();
    this.#abort = null;
  }

  frames(bytes: Buffer, durationMs: number): void {
    this.#failures = 0;
    this.#waitMs = this.#ahead.book(durationMs, this.#clock.now());
    this.#skippedAtFrame = this.#framer.counters.skippedBytes;
    this.#input.frames(bytes, durationMs, this.#framer.bitrateKbps);
  }

  #try(): void {
    this.state = 'starting';
    const abort = new AbortController();
    this.#abort = abort;
    this.#connect(abort).catch((error: unknown) =>
      this.#lost(abort, error instanceof Error ? error.message : 'failed'),
    );
  }

  async #connect(abort: AbortController): Promise<void> {
    const response = await request(this.#options.url, {
      dispatcher: this.#agent,
      signal: abort.signal,
      headers: { 'icy-metadata': '1', 'user-agent': 'airsplice', accept: '*/*' },
      headersTimeout: this.#options.connectTimeoutMs,
      bodyTimeout: this.#options.stallMs,
    });
    if (response.statusCode !== 200) {
      response.body.on('error', () => undefined).destroy();
      throw new Error(`the upstream answered ${response.statusCode}`);
    }
    if (abort.signal.aborted) return;
    this.state = 'up';
    this.#framer = new Framer(this);
    this.#skippedAtFrame = 0;
    this.#ahead.reset();
    const stripper = new IcyStripper(Number(response.headers['icy-metaint'] ?? 0));
    const body = response.body;
    body.on('data', (chunk: Buffer) => this.#drain(body, stripper.pieces(chunk), abort));
    body.on('end', () => this.#lost(abort, 'the upstream closed the stream'));
    body.on('error', (error: Error) => this.#lost(abort, error.message));
  }

  /** Passes on what lies in a chunk, in order. A title stops the flow until it is committed, and so does audio ahead of time. */
  #drain(body: Dispatcher.ResponseData['body'], pieces: Iterator<Piece>, abort: AbortController): void {
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
      if (title !== undefined) void this.#input.title(title).then(goOn);
      else this.#clock.alarm(this.#clock.now() + this.#waitMs, { ring: goOn });
      return;
    }
    body.resume();
  }

  #lost(abort: AbortController, reason: string): void {
    if (this.#abort !== abort) return;
    this.#abort = null;
    abort.abort();
    this.state = 'starting';
    const ceilingMs = Math.min(this.#options.retryMaxMs, this.#options.retryMinMs * 2 ** this.#failures++);
    const pauseMs = ceilingMs * (0.5 + Math.random() / 2);
    this.#retry = this.#clock.alarm(this.#clock.now() + pauseMs, { ring: () => this.#try() });
    this.#input.lost(reason);
  }
}
