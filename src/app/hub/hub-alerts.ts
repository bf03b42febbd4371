/** Alerts, put together where the channels are, and what metrics show of them. */

import { Alerts } from '../../alerts/alerts.js';
import type { Core } from '../core.js';
import type { MetricRegistry } from '../metrics/registry.js';
import { AlertFactsReader, type AlertSources } from './alert-facts.js';

export interface AlertParts {
  readonly alerts: Alerts;
  readonly facts: AlertFactsReader;
}

export function makeAlerts(core: Core, sources: AlertSources, registry: MetricRegistry): AlertParts {
  const { clock, log, config } = core;
  const facts = new AlertFactsReader(core, sources);
  const alerts = new Alerts({ clock, log, config: () => config.alerts, facts: () => facts.read() });
  observeAlerts(registry, alerts);
  return { alerts, facts };
}

function observeAlerts(registry: MetricRegistry, alerts: Alerts): void {
  registry.gauge('airsplice_alerts', 'Active alerts, if there are webhooks', ['event'], (set) => {
    for (const [event, count] of alerts.firing()) set({ event }, count);
  });
  registry.counter(
    'airsplice_alert_deliveries_total',
    'Deliveries of alerts; webhook: its number in the configuration, from 1; failed attempts are retried',
    ['webhook', 'outcome'],
    (set) => {
      for (const [i, { counts }] of alerts.deliveries().entries())
        for (const [outcome, count] of Object.entries(counts)) set({ webhook: i + 1, outcome }, count);
    },
  );
  registry.gauge('airsplice_alerts_waiting', 'Alerts not yet delivered', ['webhook'], (set) => {
    for (const [i, { waiting }] of alerts.deliveries().entries()) set({ webhook: i + 1 }, waiting);
  });
}
