/** One webhook: its alerts, as its format has them, by the delivery of all that is sent (net/outbound/delivery.ts). */

import type { Clock } from '../base/clock.js';
import type { WebhookConfig } from '../config/alerts-config.js';
import { Delivery, type DeliveryOptions, type DeliveryOutcome, type DeliveryOutput } from '../net/outbound/delivery.js';
import type { Alert } from './alert.js';
import { render } from './rendered-alert.js';

export class Webhook {
  readonly config: WebhookConfig;
  readonly #server: () => string;
  readonly #delivery: Delivery;

  /** @param server how this server calls itself @param options both are read whenever they are needed */
  constructor(
    config: WebhookConfig,
    server: () => string,
    options: () => DeliveryOptions,
    clock: Clock,
    output: DeliveryOutput,
  ) {
    this.config = config;
    this.#server = server;
    this.#delivery = new Delivery(options, clock, output);
  }

  get counts(): Readonly<Record<DeliveryOutcome, number>> {
    return this.#delivery.counts;
  }

  /** How many are not delivered yet. */
  get waiting(): number {
    return this.#delivery.waiting;
  }

  /** Whether it wants to know of this. What is not about a channel concerns those with a list of channels too. */
  wants({ event, channel }: Pick<Alert, 'event' | 'channel'>): boolean {
    const { events, channels } = this.config;
    if (events !== undefined && !events.includes(event)) return false;
    return channel === undefined || channels === undefined || channels.includes(channel);
  }

  send(alert: Alert): void {
    const { url, secret: key, format } = this.config;
    const { type, body } = render(alert, format, this.#server());
    this.#delivery.send({ id: alert.id, url, method: 'POST', headers: { 'Content-Type': type }, body, key });
  }

  /** What is not delivered by now is not delivered. Idempotent. */
  close(): void {
    this.#delivery.close();
  }
}
