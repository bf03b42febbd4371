/**
 * The body of an upstream's answer, read: ICY blocks are taken out, frames and titles handed on in the order in which they stood.
 * A title stops the flow until it is committed, so that it lies on our tape where it lay on theirs; so does audio ahead of time.
 * Owned by one try of an upstream, which ends the request and hears of its errors.
 */

import type { Format } from '../audio/format.js';
import type { OggLink } from '../audio/ogg-link.js';
import type { Clock } from '../base/clock.js';
import { decodeUndeclared } from '../metadata/text.js';
import type { BodySink, Outbound } from '../net/outbound.js';
import { type FactLimits, readFacts, type SourceFacts } from './facts.js';
import { Intake, type IntakeOwner } from './intake.js';
import type { SourceTitle } from './source.js';
import { IcyStripper, type Piece } from './strip.js';

export interface ReceptionSink {
  /** A whole frame, as SourceInput has it; returns for how many milliseconds to read no further (0: go on). */
  frame(bytes: Buffer, durationMs: number, bitrateKbps: number, fresh: boolean, link?: OggLink): number;
  /** The frames behind the title wait until this resolves. Never rejects. */
  onTitle(title: SourceTitle): Promise<void>;
  /** Nothing more comes; told once. */
  onEnded(reason: string): void;
}

export interface ReceptionRules {
  /** Whose work it is where it takes too long. */
  readonly channel: string;
  /** Without a byte for this long it has ended. */
  readonly stallMs: number;
  /** So much in which there is no audio that we know, or next to none, is no stream (intake.ts). */
  readonly framelessBytes: number;
  readonly facts: FactLimits;
}

export class Reception implements IntakeOwner, BodySink {
  /** What the upstream says of itself. */
  readonly facts: SourceFacts;
  readonly #body: Outbound;
  readonly #sink: ReceptionSink;
  readonly #clock: Clock;
  readonly #rules: ReceptionRules;
  readonly #intake: Intake;
  readonly #stripper: IcyStripper;
  #open = true;
  /** Of the latest chunk. */
  #pieces: Iterator<Piece> = [].values();

  constructor(body: Outbound, sink: ReceptionSink, clock: Clock, rules: ReceptionRules) {
    this.#body = body;
    this.#sink = sink;
    this.#clock = clock;
    this.#rules = rules;
    this.facts = readFacts(headsOf(body), rules.facts);
    this.#intake = new Intake(this, clock, rules.framelessBytes);
    this.#stripper = new IcyStripper(Number.parseInt(body.headers.get('icy-metaint') ?? '', 10));
    body.setIdleTimeout(rules.stallMs);
    body.receive(this);
  }

  onBody(chunk: Buffer): void {
    this.#pieces = this.#stripper.pieces(chunk);
    this.#drain();
  }

  onEnd(): void {
    this.#end('the upstream closed the stream');
  }

  onIdle(): void {
    this.#end('no bytes from the upstream');
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
    this.#open = false;
  }

  frame(bytes: Buffer, durationMs: number, bitrateKbps: number, fresh: boolean, link?: OggLink): number {
    // Closed by the sink in the middle of a slice: nothing more is handed on.
    return this.#open ? this.#sink.frame(bytes, durationMs, bitrateKbps, fresh, link) : 0;
  }

  /** All of a chunk, or as far as it may be read. */
  #drain(): void {
    const startMs = this.#clock.watchdog.begin();
    this.#takePieces();
    this.#worked(startMs);
  }

  #worked(startMs: number): void {
    const { watchdog } = this.#clock;
    if (watchdog.end('upstream', startMs)) watchdog.blame(this.#rules.channel);
  }

  #takePieces(): void {
    while (this.#open) {
      const step = this.#pieces.next();
      if (step.done) return;
      const { audio, title } = step.value;
      if (audio !== undefined) this.#intake.push(audio);
      if (this.#stops(title)) return;
    }
  }

  /** What was just read is no audio, or is to be waited for. */
  #stops(blockTitle?: string): boolean {
    const { isHeld, isNoAudio, waitMs } = this.#intake;
    if (isNoAudio) {
      const isNone = this.#intake.counters.frames === 0;
      this.#end(
        `no MP3, AAC or Ogg audio in ${isNone ? '' : 'most of '}what the upstream sends${isNone ? '' : ': damaged'}`,
      );
      return true;
    }
    const title = blockTitle ?? this.#intake.title;
    if (title === undefined && !isHeld) return false;
    this.#body.pause();
    // That nothing comes while it is held back is our doing.
    this.#body.setIdleTimeout(title === undefined ? waitMs + this.#rules.stallMs : 0);
    if (title === undefined) this.#wait(waitMs);
    else void this.#sink.onTitle(title).then(() => (waitMs > 0 ? this.#wait(waitMs) : this.#goOn()));
    return true;
  }

  #wait(ms: number): void {
    this.#clock.alarm(this.#clock.now() + ms, { onAlarm: () => this.#goOn() });
  }

  #goOn(): void {
    if (!this.#open) return;
    const startMs = this.#clock.watchdog.begin();
    this.#intake.resume();
    this.#worked(startMs);
    if (this.#stops()) return;
    this.#body.setIdleTimeout(this.#rules.stallMs);
    this.#body.resume();
    this.#drain();
  }

  #end(reason: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.#sink.onEnded(reason);
  }
}

/** A head's bytes come one character each; their charset is declared by nobody. */
function headsOf({ headers }: Outbound): Map<string, string> {
  return new Map([...headers].map(([name, value]) => [name, decodeUndeclared(Buffer.from(value, 'latin1'))]));
}
