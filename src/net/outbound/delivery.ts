/**
 * Delivers messages to one receiver, in order and one at a time, each retried until it is accepted. Used for alerts and for titles of channels.
 *
 *   send ─► waiting (bounded: the oldest goes) ─► attempt ─taken─► delivered
 *                        ▲                         └─ else: pause, twice as long each time, and again ─► a last time after giveUpSeconds
 *                        └──────────────────────────────────┘
 *
 * Neither URL nor secret is ever logged: the owner names a receiver by its place in the configuration.
 */

import type { Alarm, Clock } from '../../base/clock.js';
import { type Attempt, attempt, type DeliveryMessage } from './attempt.js';

export interface DeliveryOptions {
  /** The limit of one attempt. */
  readonly timeoutSeconds: number;
  /** The first and the longest pause after a failure. */
  readonly retrySeconds: { readonly min: number; readonly max: number };
  /** A message that could not be delivered for this long is given up. */
  readonly giveUpSeconds: number;
  /** How many messages may wait, besides the one under way. */
  readonly waiting: number;
}

export interface DeliveryOutput {
  /** An attempt failed; called for the first failure in a row. @param reason without any part of the URL */
  onTrouble(reason: string): void;
  /** Messages are accepted again. */
  onRecovered(): void;
}

/** What became of messages; `failed` counts attempts. */
export type DeliveryOutcome = 'delivered' | 'failed' | 'dropped' | 'given-up';

interface WaitingMessage {
  readonly message: DeliveryMessage;
  readonly untilMs: number;
}

export class Delivery {
  readonly counts: Record<DeliveryOutcome, number> = { delivered: 0, failed: 0, dropped: 0, 'given-up': 0 };
  readonly #options: () => DeliveryOptions;
  readonly #clock: Clock;
  readonly #output: DeliveryOutput;
  readonly #waiting: WaitingMessage[] = [];
  /** Under way, or waiting for its next attempt. */
  #current: WaitingMessage | null = null;
  #attempt: Attempt | null = null;
  #pause: Alarm | null = null;
  #failures = 0;
  #isClosed = false;

  /** @param options read whenever they are needed */
  constructor(options: () => DeliveryOptions, clock: Clock, output: DeliveryOutput) {
    this.#options = options;
    this.#clock = clock;
    this.#output = output;
  }

  /** How many messages are not delivered yet. */
  get waiting(): number {
    return this.#waiting.length + (this.#current === null ? 0 : 1);
  }

  send(message: DeliveryMessage): void {
    if (this.#isClosed) return;
    const { waiting, giveUpSeconds } = this.#options();
    while (this.#waiting.length >= waiting) {
      this.#waiting.shift();
      this.counts.dropped++;
    }
    this.#waiting.push({ message, untilMs: this.#clock.now() + giveUpSeconds * 1000 });
    this.#next();
  }

  /** Drops all messages that are not delivered yet. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.#current = null;
    this.#pause?.cancel();
    this.#attempt?.abort();
  }

  #next(): void {
    if (this.#current !== null || this.#pause !== null || this.#isClosed) return;
    this.#current = this.#waiting.shift() ?? null;
    if (this.#current !== null) this.#try(this.#current);
  }

  #try({ message }: WaitingMessage): void {
    this.#attempt = attempt(message, {
      wallMs: this.#clock.wallMs(),
      timeoutMs: this.#options().timeoutSeconds * 1000,
      onOver: (failure, isFinal, afterSeconds) => {
        this.#attempt = null;
        if (!this.#isClosed) this.#onOver(failure, isFinal, afterSeconds);
      },
    });
  }

  /** @param failure null: it was accepted @param afterSeconds what the receiver asks for */
  #onOver(failure: string | null, isFinal: boolean, afterSeconds: number): void {
    const { untilMs } = this.#current!;
    if (failure === null) {
      this.counts.delivered++;
      if (this.#failures > 0) this.#output.onRecovered();
      this.#failures = 0;
      this.#settle();
      return;
    }
    this.counts.failed++;
    if (this.#failures++ === 0) this.#output.onTrouble(failure);
    const { min, max } = this.#options().retrySeconds;
    const backoff = Math.min(max, min * 2 ** (this.#failures - 1)) * (0.75 + Math.random() / 4);
    const nowMs = this.#clock.now();
    const askedMs = nowMs + Math.min(max, afterSeconds) * 1000;
    let againMs = Math.max(nowMs + backoff * 1000, askedMs);
    if (isFinal || nowMs >= untilMs || askedMs > untilMs) {
      this.counts['given-up']++;
      // The next message waits all the same, so that a failing receiver is not asked again at once.
      this.#current = null;
      if (this.#waiting.length === 0) return;
    } else if (againMs > untilMs) againMs = untilMs;
    this.#pause = this.#clock.alarm(againMs, { onAlarm: () => this.#again() });
  }

  #again(): void {
    this.#pause = null;
    if (this.#current === null) this.#next();
    else this.#try(this.#current);
  }

  #settle(): void {
    this.#current = null;
    this.#next();
  }
}
