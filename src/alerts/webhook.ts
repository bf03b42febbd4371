/** One webhook: selects its alerts, and sends them in its format (net/outbound/delivery.ts). */

import type { Clock } from '../base/clock.js';
import type { WebhookConfig } from '../config/alerts-config.js';
import { Delivery, type DeliveryOptions, type DeliveryOutcome, type DeliveryOutput } from '../net/outbound/delivery.js';
import type { Alert } from './alert.js';
import { render } from './rendered-alert.js';

export class Webhook {
  readonly config: WebhookConfig;
  readonly #server: () => string;
  readonly #delivery: Delivery;

  /** @param server gives the name of this server; called for each alert @param options called whenever they are needed */
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

  /** How many alerts are not delivered yet. */
  get waiting(): number {
    return this.#delivery.waiting;
  }

  /** Whether it wants this alert. A list of channels does not exclude alerts that are not about a channel. */
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

  /** Drops all that is not delivered yet. Idempotent. */
  close(): void {
    this.#delivery.close();
  }
}
