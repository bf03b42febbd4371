/**
 * Checks the server's facts once a second; alerts go to the log and to the webhooks that want them. Without a webhook nothing is checked. Owned by
 * the side that carries the audio (app/hub/hub.ts), since the facts are there.
 *
 *   facts ─► conditions ─► board: lasting, damped ─► log, webhooks
 */

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { AlertsConfig, WebhookConfig } from '../config/alerts-config.js';
import { remade } from '../config/same.js';
import type { DeliveryOutcome } from '../net/outbound/delivery.js';
import type { Alert } from './alert.js';
import { AlertBoard } from './alert-board.js';
import { conditionsOf } from './conditions.js';
import type { AlertFacts } from './server-facts.js';
import { Webhook } from './webhook.js';

export interface AlertsParts {
  /** Called each time, since a reload may have changed it. */
  config(): AlertsConfig;
  facts(): AlertFacts;
  readonly clock: Clock;
  readonly log: Log;
}

export class Alerts {
  readonly #parts: AlertsParts;
  readonly #board = new AlertBoard(() => randomUUID());
  #webhooks: readonly Webhook[] = [];
  #made: readonly WebhookConfig[] = [];

  constructor(parts: AlertsParts) {
    this.#parts = parts;
  }

  /** The number of alerts that are not resolved, by event. */
  firing(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { event } of this.#board.firing()) counts.set(event, (counts.get(event) ?? 0) + 1);
    return counts;
  }

  /** What became of alerts, for each webhook in configured order. */
  deliveries(): readonly { readonly waiting: number; readonly counts: Readonly<Record<DeliveryOutcome, number>> }[] {
    return this.#webhooks;
  }

  /** Called once a second. */
  look(nowMs: number): void {
    const { clock, facts } = this.#parts;
    const config = this.#parts.config();
    this.#follow(config);
    if (this.#webhooks.length === 0) {
      this.#board.clear();
      return;
    }
    const damping = { afterMs: config.afterSeconds * 1000, againMs: config.againSeconds * 1000 };
    const conditions = conditionsOf(facts(), config);
    for (const alert of this.#board.look(conditions, damping, nowMs, clock.wallMs())) this.#send(alert);
  }

  /** Drops all that is not delivered yet. Idempotent. */
  close(): void {
    for (const webhook of this.#webhooks) webhook.close();
  }

  #send(alert: Alert): void {
    const { event, severity, subject, summary, state } = alert;
    const fields = { event, severity, ...(subject !== '' && { subject }), summary };
    if (state === 'firing') this.#parts.log.warn(fields, 'alert');
    else this.#parts.log.info(fields, 'alert resolved');
    sendTo(this.#webhooks, alert);
  }

  /** Takes changed webhooks: those that stay keep their waiting alerts, new ones get all unresolved alerts. */
  #follow({ webhooks }: AlertsConfig): void {
    if (webhooks === this.#made) return;
    this.#made = webhooks;
    const { all, gone } = remade(this.#webhooks, webhooks, (config) => this.#make(config));
    const added = all.filter((webhook) => !this.#webhooks.includes(webhook));
    this.#webhooks = all;
    for (const webhook of gone) webhook.close();
    for (const alert of this.#board.again(this.#parts.clock.wallMs())) sendTo(added, alert);
  }

  #make(config: WebhookConfig): Webhook {
    const { clock, log } = this.#parts;
    const server = () => this.#parts.config().name || hostname();
    // A reload may give it another place.
    const number = () => this.#webhooks.indexOf(made) + 1;
    const made: Webhook = new Webhook(config, server, () => this.#parts.config(), clock, {
      onTrouble: (trouble) => log.warn({ webhook: number(), trouble }, 'a webhook does not accept alerts: retrying'),
      onRecovered: () => log.info({ webhook: number() }, 'a webhook accepts alerts again'),
    });
    return made;
  }
}

function sendTo(webhooks: readonly Webhook[], alert: Alert): void {
  for (const webhook of webhooks) if (webhook.wants(alert)) webhook.send(alert);
}
