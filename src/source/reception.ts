/**
 * The body of an upstream's answer: frames and titles (strip.ts) are handed on in the order in which they stood, paused where that is needed
 * (intake.ts). Owned by one try of an upstream, which ends the request and handles its errors.
 */

import type { Format } from '../audio/frames/format.js';
import type { Clock } from '../base/clock.js';
import { decodeTitle } from '../metadata/text.js';
import type { BodySink, Outbound } from '../net/outbound/outbound.js';
import { Intake, type IntakeOwner, type IntakeSink } from './intake.js';
import { foreignSentence } from './magic.js';
import { type FactLimits, readFacts, type SourceFacts } from './source-facts.js';
import { IcyStripper } from './strip.js';

export interface ReceptionSink extends IntakeSink {
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
  /** Of its titles and headers, where they are not UTF-8. */
  readonly charset?: string | undefined;
}

export class Reception implements IntakeOwner, BodySink {
  /** What the upstream says of itself. */
  readonly facts: SourceFacts;
  readonly #body: Outbound;
  readonly #sink: ReceptionSink;
  readonly #rules: ReceptionRules;
  readonly #intake: Intake;
  #isOpen = true;

  constructor(body: Outbound, sink: ReceptionSink, clock: Clock, rules: ReceptionRules) {
    this.#body = body;
    this.#sink = sink;
    this.#rules = rules;
    this.facts = readFacts({ headers: decodeHeaders(body, rules.charset) }, rules.facts);
    const { channel, framelessBytes } = rules;
    const charset = () => rules.charset;
    const stripper = new IcyStripper(body.headers.get('icy-metaint'), charset);
    this.#intake = new Intake(this, sink, clock, {
      part: 'upstream',
      channel,
      body: stripper,
      framelessBytes,
      charset,
    });
    body.setIdleTimeout(rules.stallMs);
    body.receive(this);
  }

  onBody(chunk: Buffer): void {
    this.#intake.take(chunk);
  }

  onEnd(): void {
    this.#intake.finish();
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
    this.#isOpen = false;
    this.#intake.close();
  }

  /** That nothing comes meanwhile is our doing. */
  onPaused(waitMs: number | null): void {
    this.#body.pause();
    this.#body.setIdleTimeout(waitMs === null ? 0 : waitMs + this.#rules.stallMs);
  }

  onResumed(): void {
    this.#body.setIdleTimeout(this.#rules.stallMs);
    this.#body.resume();
  }

  onNoAudio(): void {
    const { counters, share } = this.#intake;
    this.#end(foreignSentence(share.foreign, 'the upstream', counters.frames > 0));
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

/** Bytes of headers come one character each; they declare no charset. */
function decodeHeaders({ headers }: Outbound, charset: string | undefined): Map<string, string> {
  return new Map([...headers].map(([name, value]) => [name, decodeTitle(Buffer.from(value, 'latin1'), charset)]));
}
