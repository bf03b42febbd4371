/**
 * The body of an upstream's answer, read: ICY blocks are taken out, frames and titles handed on in the order in which they stood.
 * A title stops the flow until it is committed, so that it lies on our tape where it lay on theirs; so does audio ahead of time.
 * Owned by one try of an upstream, which ends the request and hears of its errors.
 */

import type http from 'node:http';
import { type Format, framerFor } from '../audio/framer.js';
import type { FrameSink } from '../audio/frames.js';
import type { OggLink } from '../audio/ogg-link.js';
import type { Clock } from '../clock.js';
import { decodeUndeclared } from '../metadata/text.js';
import { type FactLimits, readFacts, type SourceFacts } from './facts.js';
import type { SourceTitle } from './source.js';
import { IcyStripper, type Piece } from './strip.js';

export interface ReceptionSink {
  /** A whole frame, as SourceInput has it; returns for how many milliseconds to read no further (0: go on). */
  frame(bytes: Buffer, durationMs: number, bitrateKbps: number, fresh: boolean, link?: OggLink): number;
  /** The frames behind the title wait until this resolves. Never rejects. */
  title(title: SourceTitle): Promise<void>;
  /** Nothing more comes; told once. */
  ended(reason: string): void;
}

export interface ReceptionRules {
  /** Without a byte for this long it has ended. */
  readonly stallMs: number;
  /** So much since the last frame (or without one) is no audio that we know. */
  readonly framelessBytes: number;
  readonly facts: FactLimits;
}

export class Reception implements FrameSink {
  /** What the upstream says of itself. */
  readonly facts: SourceFacts;
  readonly #body: http.IncomingMessage;
  readonly #sink: ReceptionSink;
  readonly #clock: Clock;
  readonly #rules: ReceptionRules;
  readonly #framer = framerFor(this);
  #open = true;
  /** Out of an Ogg stream's comments. */
  #titled: SourceTitle | undefined;
  #waitMs = 0;
  #skippedAtFrame = 0;

  constructor(body: http.IncomingMessage, sink: ReceptionSink, clock: Clock, rules: ReceptionRules) {
    this.#body = body;
    this.#sink = sink;
    this.#clock = clock;
    this.#rules = rules;
    this.facts = readFacts(headsOf(body), rules.facts);
    const stripper = new IcyStripper(Number.parseInt(String(body.headers['icy-metaint']), 10));
    body.socket.setTimeout(rules.stallMs, () => this.#end('no bytes from the upstream'));
    body.on('data', (chunk: Buffer) => this.#drain(stripper.pieces(chunk)));
    body.on('end', () => this.#end('the upstream closed the stream'));
  }

  /** Of the latest frame. */
  get codec(): Format | undefined {
    return this.#framer.codec;
  }

  /** Hands on nothing more. Idempotent. */
  close(): void {
    this.#open = false;
  }

  frame(bytes: Buffer, durationMs: number, fresh: boolean, link?: OggLink): void {
    if (!this.#open) return; // closed by the sink in the middle of a slice
    this.#skippedAtFrame = this.#framer.counters.skippedBytes;
    this.#waitMs = this.#sink.frame(bytes, durationMs, this.#framer.bitrateKbps, fresh, link);
  }

  titled(title: SourceTitle): void {
    this.#titled = title;
  }

  #drain(pieces: Iterator<Piece>): void {
    for (let step = pieces.next(); !step.done; step = pieces.next()) {
      if (!this.#open) return;
      const { audio } = step.value;
      this.#waitMs = 0;
      this.#titled = step.value.title;
      if (audio !== undefined) this.#framer.push(audio);
      if (this.#framer.counters.skippedBytes - this.#skippedAtFrame > this.#rules.framelessBytes) {
        this.#end('no MP3, AAC or Ogg audio in what the upstream sends');
        return;
      }
      const title = this.#titled;
      if (title === undefined && this.#waitMs === 0) continue;
      this.#body.pause();
      this.#body.socket.setTimeout(0); // that nothing comes while it is held back is our doing
      const goOn = () => this.#drain(pieces);
      if (title !== undefined) void this.#sink.title(title).then(goOn);
      else this.#clock.alarm(this.#clock.now() + this.#waitMs, { ring: goOn });
      return;
    }
    if (!this.#open) return;
    this.#body.socket.setTimeout(this.#rules.stallMs);
    this.#body.resume();
  }

  #end(reason: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.#sink.ended(reason);
  }
}

/** A head's bytes come one character each; their charset is declared by nobody. */
function headsOf({ headers }: http.IncomingMessage): Map<string, string> {
  const heads = Object.entries(headers).filter((head): head is [string, string] => typeof head[1] === 'string');
  return new Map(heads.map(([name, value]) => [name, decodeUndeclared(Buffer.from(value, 'latin1'))]));
}
