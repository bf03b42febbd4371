/**
 * One webhook: its alerts in their order, one request at a time, again and again until it has them.
 *
 *   send ─► waiting (bounded: the oldest goes) ─► POST ─2xx─► delivered
 *                        ▲                         └─ else: pause, twice as long each time, and again ─► given up after giveUpMs
 *                        └──────────────────────────────────┘
 *
 * Each request is a connection of its own, and a redirect is not an answer, as with the listener hook. Neither URL nor secret is ever logged: a
 * webhook is named by its place in the configuration.
 */

import { lookup } from 'node:dns';
import type { Alarm, Clock } from '../base/clock.js';
import type { AlertsConfig, WebhookConfig } from '../config/alerts-config.js';
import { Outbound } from '../net/outbound/outbound.js';
import { Target } from '../net/outbound/target.js';
import type { Alert } from './alert.js';
import { type RenderedAlert, render } from './rendered-alert.js';
import { signatureHeaders } from './webhook-signature.js';

export type DeliveryOptions = Pick<AlertsConfig, 'timeoutSeconds' | 'retrySeconds' | 'giveUpSeconds' | 'waiting'>;

export interface WebhookOutput {
  /** An alert was not taken; called for the first failure in a row. @param reason without any part of the URL */
  onTrouble(reason: string): void;
  /** It takes alerts again. */
  onRecovered(): void;
}

interface AlertMessage {
  readonly alert: Alert;
  readonly rendered: RenderedAlert;
  readonly untilMs: number;
}

/** What became of alerts; a failed attempt comes again. */
export type DeliveryOutcome = 'delivered' | 'failed' | 'dropped' | 'given-up';

const CONNECTION = { lookup, ca: undefined, headBytes: 16 * 1024 };
/** A body says nothing. It is read only so that the other side can finish. */
const MAX_BODY_BYTES = 64 * 1024;
/** The receiver has gone for good. */
const GONE = 410;

export class Webhook {
  readonly counts: Record<DeliveryOutcome, number> = { delivered: 0, failed: 0, dropped: 0, 'given-up': 0 };
  readonly config: WebhookConfig;
  readonly #server: string;
  readonly #options: () => DeliveryOptions;
  readonly #clock: Clock;
  readonly #output: WebhookOutput;
  readonly #target: Target;
  readonly #waiting: AlertMessage[] = [];
  /** Under way, or paused before it goes out again. */
  #current: AlertMessage | null = null;
  #request: Outbound | null = null;
  #pause: Alarm | null = null;
  #failures = 0;
  #isClosed = false;

  /** @param server how this server calls itself @param options read whenever they are needed */
  constructor(
    config: WebhookConfig,
    server: string,
    options: () => DeliveryOptions,
    clock: Clock,
    output: WebhookOutput,
  ) {
    this.config = config;
    this.#server = server;
    this.#options = options;
    this.#clock = clock;
    this.#output = output;
    this.#target = Target.named(config.url, undefined, true);
  }

  /** How many are not delivered yet. */
  get waiting(): number {
    return this.#waiting.length + (this.#current === null ? 0 : 1);
  }

  /** Whether it wants to know of this. What is not about a channel concerns those with a list of channels too. */
  wants({ event, channel }: Pick<Alert, 'event' | 'channel'>): boolean {
    const { events, channels } = this.config;
    if (events !== undefined && !events.includes(event)) return false;
    return channel === undefined || channels === undefined || channels.includes(channel);
  }

  send(alert: Alert): void {
    if (this.#isClosed) return;
    const { waiting, giveUpSeconds } = this.#options();
    while (this.#waiting.length >= waiting) {
      this.#waiting.shift();
      this.counts.dropped++;
    }
    const rendered = render(alert, this.config.format, this.#server);
    this.#waiting.push({ alert, rendered, untilMs: this.#clock.now() + giveUpSeconds * 1000 });
    this.#next();
  }

  /** What is not delivered by now is not delivered. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.#current = null;
    this.#pause?.cancel();
    this.#request?.abort();
  }

  #next(): void {
    if (this.#current !== null || this.#pause !== null || this.#isClosed) return;
    this.#current = this.#waiting.shift() ?? null;
    if (this.#current !== null) this.#attempt(this.#current);
  }

  #attempt({ alert, rendered: { type, body } }: AlertMessage): void {
    const headers = {
      'Content-Type': type,
      'User-Agent': 'airsplice',
      ...signatureHeaders(this.config.secret, alert.id, body, this.#clock.wallMs()),
    };
    let isOver = false;
    const over = (failure: string | null, isFinal = false, afterSeconds = 0) => {
      if (isOver) return;
      isOver = true;
      this.#request = null;
      if (!this.#isClosed) this.#onOver(failure, isFinal, afterSeconds);
    };
    let bytes = 0;
    const onBody = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) outbound.abort();
    };
    const request = { target: this.#target, method: 'POST', headers, body } as const;
    const outbound = new Outbound(request, CONNECTION, {
      onAnswer: () => {
        const { status } = outbound;
        outbound.receive({ onBody, onEnd: () => undefined });
        if (status >= 200 && status <= 299) over(null);
        else over(`status ${status}`, status === GONE, retryAfter(outbound.headers.get('retry-after')));
      },
      // A reason may hold the name that was looked up; a code holds nothing of the URL.
      onFailed: (_, code) => over(code ?? 'the connection failed'),
      onClosed: () => {
        clearTimeout(deadline);
        over('no answer');
      },
    });
    this.#request = outbound;
    const deadline = setTimeout(() => {
      over('no answer in time');
      outbound.abort();
    }, this.#options().timeoutSeconds * 1000);
    outbound.start();
  }

  /** @param failure null: it was taken @param afterSeconds what the receiver asks for */
  #onOver(failure: string | null, isFinal: boolean, afterSeconds: number): void {
    const message = this.#current!;
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
    const againMs = nowMs + Math.max(backoff, Math.min(max, afterSeconds)) * 1000;
    if (isFinal || againMs > message.untilMs) {
      this.counts['given-up']++;
      // Those behind it wait all the same: what does not answer is not asked at once again.
      this.#current = null;
      if (this.#waiting.length === 0) return;
    }
    this.#pause = this.#clock.alarm(againMs, { onAlarm: () => this.#again() });
  }

  #again(): void {
    this.#pause = null;
    if (this.#current === null) this.#next();
    else this.#attempt(this.#current);
  }

  #settle(): void {
    this.#current = null;
    this.#next();
  }
}

/** Seconds; 0: it says nothing that can be read. A date is not read. */
function retryAfter(value: string | undefined): number {
  return value !== undefined && /^\d{1,6}$/.test(value) ? Number(value) : 0;
}
