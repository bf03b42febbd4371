/**
 * The body of an upstream's answer: frames and titles (strip.ts) are passed on in their order in the stream, with pauses (intake.ts). Owned by one
 * try of an upstream, which ends the request and handles its errors.
 */

import type { Clock } from '../base/clock.js';
import { decodeTitle } from '../metadata/text.js';
import type { BodySink, Outbound } from '../net/outbound/outbound.js';
import { Intake, type IntakeOwner, type IntakeSink } from './intake.js';
import { foreignSentence } from './magic.js';
import { readFacts, type SourceRules } from './source-facts.js';
import type { SourceFacts } from './source-facts-schema.js';
import { IcyStripper } from './strip.js';

export interface ReceptionSink extends IntakeSink {
  /** The body has ended; called once. */
  onEnded(reason: string): void;
}

export interface ReceptionRules extends SourceRules {
  /** After this time without a byte it counts as ended. */
  readonly stallMs: number;
}

export class Reception implements IntakeOwner, BodySink {
  /** The facts that the upstream states about itself. */
  readonly facts: SourceFacts;
  readonly intake: Intake;
  readonly #body: Outbound;
  readonly #sink: ReceptionSink;
  readonly #rules: ReceptionRules;
  #isOpen = true;

  constructor(body: Outbound, sink: ReceptionSink, clock: Clock, rules: ReceptionRules) {
    this.#body = body;
    this.#sink = sink;
    this.#rules = rules;
    this.facts = readFacts({ headers: decodeHeaders(body, rules.charset) }, rules.facts);
    const stripper = new IcyStripper(body.headers.get('icy-metaint'), () => rules.charset);
    this.intake = new Intake(this, sink, clock, { part: 'upstream', body: stripper, rules });
    body.setIdleTimeout(rules.stallMs);
    body.receive(this);
  }

  onBody(chunk: Buffer): void {
    this.intake.take(chunk);
  }

  onEnd(): void {
    this.intake.finish();
  }

  onIdle(): void {
    this.#end('no bytes from the upstream');
  }

  /** Passes on nothing more. Idempotent. */
  close(): void {
    this.#isOpen = false;
    this.intake.close();
  }

  /** It is not the upstream's fault that nothing comes meanwhile. */
  onPaused(waitMs: number | null): void {
    this.#body.pause();
    this.#body.setIdleTimeout(waitMs === null ? 0 : waitMs + this.#rules.stallMs);
  }

  onResumed(): void {
    this.#body.setIdleTimeout(this.#rules.stallMs);
    this.#body.resume();
  }

  onNoAudio(): void {
    const { counters, share } = this.intake;
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

/** Each byte of a header is one character; no charset is declared. */
function decodeHeaders({ headers }: Outbound, charset: string | undefined): Map<string, string> {
  return new Map([...headers].map(([name, value]) => [name, decodeTitle(Buffer.from(value, 'latin1'), charset)]));
}
