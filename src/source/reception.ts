/**
 * The body of an upstream's answer: ICY blocks are taken out (strip.ts), frames and titles handed on in the order in which they stood,
 * held back where that is needed (intake.ts). Owned by one try of an upstream, which ends the request and handles its errors.
 */

import type http from 'node:http';
import type { Format } from '../audio/format.js';
import type { OggLink } from '../audio/ogg-link.js';
import type { Clock } from '../base/clock.js';
import { decodeUndeclared } from '../metadata/text.js';
import { type FactLimits, readFacts, type SourceFacts } from './facts.js';
import { Intake, type IntakeOwner } from './intake.js';
import type { SourceTitle } from './source.js';
import { IcyStripper, type Piece } from './strip.js';

export interface ReceptionSink {
  /** A whole frame, as SourceInput has it; returns for how many milliseconds to read no further (0: go on). */
  frame(bytes: Buffer, durationMs: number, bitrateKbps: number, fresh: boolean, link?: OggLink): number;
  /** The frames behind the title wait until this resolves. Never rejects. */
  onTitle(title: SourceTitle): Promise<void>;
  /** Nothing more comes; called once. */
  onEnded(reason: string): void;
}

export interface ReceptionRules {
  /** The channel whose work it is, for the watchdog. */
  readonly channel: string;
  /** Without a byte for this long it has ended. */
  readonly stallMs: number;
  /** As IntakeOptions has it. */
  readonly framelessBytes: number;
  readonly facts: FactLimits;
}

export class Reception implements IntakeOwner {
  /** What the upstream says of itself. */
  readonly facts: SourceFacts;
  readonly #body: http.IncomingMessage;
  readonly #sink: ReceptionSink;
  readonly #rules: ReceptionRules;
  readonly #intake: Intake;
  #isOpen = true;
  /** Of the latest chunk. */
  #pieces: Iterator<Piece> = [].values();

  constructor(body: http.IncomingMessage, sink: ReceptionSink, clock: Clock, rules: ReceptionRules) {
    this.#body = body;
    this.#sink = sink;
    this.#rules = rules;
    this.facts = readFacts(headsOf(body), rules.facts);
    const { channel, framelessBytes } = rules;
    const intake = new Intake(this, clock, { part: 'upstream', channel, framelessBytes });
    this.#intake = intake;
    const stripper = new IcyStripper(Number.parseInt(String(body.headers['icy-metaint']), 10));
    body.socket.setTimeout(rules.stallMs, () => this.#end('no bytes from the upstream'));
    body.on('data', (chunk: Buffer) => {
      this.#pieces = stripper.pieces(chunk);
      intake.drain();
    });
    body.on('end', () => intake.finish());
  }

  /** Of the latest frame. */
  get codec(): Format | undefined {
    return this.#intake.codec;
  }

  /** As Source has it. */
  get pageMs(): number {
    return this.#intake.pageMs;
  }

  /** Hands on nothing more. Idempotent. */
  close(): void {
    this.#isOpen = false;
    this.#intake.close();
  }

  onFrame(bytes: Buffer, durationMs: number, bitrateKbps: number, fresh: boolean, link?: OggLink): number {
    return this.#sink.frame(bytes, durationMs, bitrateKbps, fresh, link);
  }

  onTitle(title: SourceTitle): Promise<void> {
    return this.#sink.onTitle(title);
  }

  takeSlice(): boolean {
    const step = this.#pieces.next();
    if (step.done) return false;
    const { audio, title } = step.value;
    if (audio !== undefined) this.#intake.push(audio);
    if (title !== undefined) this.#intake.onTitle(title);
    return true;
  }

  /** That nothing comes meanwhile is our doing. */
  onHeld(waitMs: number | null): void {
    this.#body.pause();
    this.#body.socket.setTimeout(waitMs === null ? 0 : waitMs + this.#rules.stallMs);
  }

  onResumed(): void {
    this.#body.socket.setTimeout(this.#rules.stallMs);
    this.#body.resume();
  }

  onNoAudio(): void {
    const isDamaged = this.#intake.counters.frames > 0;
    this.#end(
      isDamaged
        ? 'no MP3, AAC or Ogg audio in most of what the upstream sends: damaged'
        : 'no MP3, AAC or Ogg audio in what the upstream sends',
    );
  }

  onFinished(): void {
    this.#end('the upstream closed the stream');
  }

  #end(reason: string): void {
    if (!this.#isOpen) return;
    this.close();
    this.#sink.onEnded(reason);
  }
}

/** A head's bytes come one character each; no charset is declared for them. */
function headsOf({ headers }: http.IncomingMessage): Map<string, string> {
  const heads = Object.entries(headers).filter((head): head is [string, string] => typeof head[1] === 'string');
  return new Map(heads.map(([name, value]) => [name, decodeUndeclared(Buffer.from(value, 'latin1'))]));
}
