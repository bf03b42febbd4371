/**
 * One webhook of a channel: selects the titles that it wants, damps them, and hands them in its format to its delivery (net/outbound/delivery.ts).
 *
 *   title ─► wanted? ─► the first at once, then the last of each `dampSeconds` ─► not what it got last ─► delivery
 */

import type { Alarm, Clock } from '../base/clock.js';
import { isInRanges } from '../config/number-range.js';
import type { TitleWebhookConfig } from '../config/title-webhooks-config.js';
import type { TrackType } from '../metadata/record.js';
import type { RecordView } from '../metadata/view.js';
import { Delivery, type DeliveryOutcome, type DeliveryOutput } from '../net/outbound/delivery.js';
import { type RenderedTitle, renderTitle } from './rendered-title.js';

export class TitleWebhook {
  readonly config: TitleWebhookConfig;
  readonly #clock: Clock;
  readonly #delivery: Delivery;
  readonly #runs: Readonly<Record<TrackType, TitleRun>>;

  constructor(config: TitleWebhookConfig, clock: Clock, output: DeliveryOutput) {
    this.config = config;
    this.#clock = clock;
    this.#delivery = new Delivery(() => config, clock, output);
    const make = () => new TitleRun(clock, config.dampSeconds * 1000, (view, last) => this.#send(view, last));
    this.#runs = { now: make(), next: make() };
  }

  get counts(): Readonly<Record<DeliveryOutcome, number>> {
    return this.#delivery.counts;
  }

  /** How many messages are not delivered yet. */
  get waiting(): number {
    return this.#delivery.waiting;
  }

  /** A title is in force from now on, or follows. */
  offer(view: RecordView): void {
    if (this.#wants(view)) this.#runs[view.record.type].offer(view);
  }

  /** Another sender has sent this title: a correction that looks the same is not sent. @param view the last of this type; null: none was sent */
  wasSent(type: TrackType, view: RecordView | null): void {
    const wanted = view !== null && this.#wants(view) ? view : null;
    this.#runs[type].last = wanted && (this.#render(wanted)?.sameAs ?? null);
  }

  /** Drops all that is not delivered yet. Idempotent. */
  close(): void {
    this.#runs.now.close();
    this.#runs.next.close();
    this.#delivery.close();
  }

  /** @param last `sameAs` of the last one sent @returns that of this one; null: not sent, as it is empty or looks the same */
  #send(view: RecordView, last: string | null): string | null {
    const rendered = this.#render(view);
    if (rendered === null || rendered.sameAs === last) return null;
    this.#delivery.send(rendered.message);
    return rendered.sameAs;
  }

  #wants({ record: { type, etype } }: RecordView): boolean {
    const { on, etypes } = this.config;
    return on.includes(type) && (etypes === undefined || isInRanges(etypes, etype));
  }

  #render(view: RecordView): RenderedTitle | null {
    return renderTitle(view, this.config, this.#clock.wallMs());
  }
}

/** Damps titles of one type. */
class TitleRun {
  readonly #clock: Clock;
  readonly #dampMs: number;
  readonly #send: (view: RecordView, last: string | null) => string | null;
  #pending: RecordView | null = null;
  #alarm: Alarm | null = null;
  #freeMs = Number.NEGATIVE_INFINITY;
  /** `sameAs` of the last title that was sent; null: none. */
  last: string | null = null;

  constructor(clock: Clock, dampMs: number, send: (view: RecordView, last: string | null) => string | null) {
    this.#clock = clock;
    this.#dampMs = dampMs;
    this.#send = send;
  }

  offer(view: RecordView): void {
    this.#pending = view;
    if (this.#clock.now() >= this.#freeMs) this.#flush();
    else this.#alarm ??= this.#clock.alarm(this.#freeMs, { onAlarm: () => this.#flush() });
  }

  close(): void {
    this.#pending = null;
    this.#alarm?.cancel();
  }

  #flush(): void {
    const view = this.#pending;
    this.#alarm?.cancel();
    this.#alarm = null;
    this.#pending = null;
    if (view === null) return;
    const sent = this.#send(view, this.last);
    if (sent === null) return;
    this.last = sent;
    this.#freeMs = this.#clock.now() + this.#dampMs;
  }
}
