/**
 * An alert in the format of a service: JSON for programs, a line for a chat, a short mail for a gateway. Pure. Texts are ASCII without markup
 * (condition.ts); characters that a chat reads as markup are escaped all the same.
 *
 *   json      Standard Webhooks: { type, timestamp, data }          slack     { text }        (Mattermost, Rocket.Chat too)
 *   teams     a message with an Adaptive Card                       discord   { content }     without mentions
 *   mail      text/plain, its first line `Subject: …`
 */

import type { AlertFormat } from '../config/alerts-config.js';
import type { Alert } from './alert.js';

export interface RenderedAlert {
  readonly type: string;
  readonly body: string;
}

const JSON_TYPE = 'application/json';
const TEXT_TYPE = 'text/plain; charset=utf-8';
const STATES = { firing: 'ALERT', resolved: 'RESOLVED' } as const;

/** @param server the name of this server */
export function render(alert: Alert, format: AlertFormat, server: string): RenderedAlert {
  if (format === 'mail') return { type: TEXT_TYPE, body: mail(alert, server) };
  return { type: JSON_TYPE, body: JSON.stringify(FORMATS[format](alert, server)) };
}

const FORMATS = { json, slack, discord, teams } as const satisfies Record<Exclude<AlertFormat, 'mail'>, unknown>;

function json(alert: Alert, server: string): object {
  const { id, event, state, severity, channel = null, subject, summary, sinceMs, atMs, flaps, fields } = alert;
  return {
    type: `alert.${state}`,
    timestamp: iso(atMs),
    data: { id, event, state, severity, server, channel, subject, summary, since: iso(sinceMs), flaps, ...fields },
  };
}

function slack(alert: Alert, server: string): object {
  const text = lineOf(alert, server).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  return { text };
}

function discord(alert: Alert, server: string): object {
  return { content: lineOf(alert, server), allowed_mentions: { parse: [] } };
}

function teams(alert: Alert, server: string): object {
  const color = alert.state === 'resolved' ? 'Good' : alert.severity === 'critical' ? 'Attention' : 'Warning';
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      { type: 'TextBlock', text: lineOf(alert, server), wrap: true, weight: 'Bolder', color },
      { type: 'FactSet', facts: factsOf(alert).map(([title, value]) => ({ title, value })) },
    ],
  };
  return { type: 'message', attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }] };
}

function mail(alert: Alert, server: string): string {
  const facts = factsOf(alert).map(([name, value]) => `${name}: ${value}`);
  return [`Subject: ${lineOf(alert, server)}`, '', alert.summary, '', `server: ${server}`, ...facts, ''].join('\n');
}

function lineOf({ state, summary }: Alert, server: string): string {
  return `[${server}] ${STATES[state]}: ${summary}`;
}

function factsOf({ event, state, severity, channel, sinceMs, atMs, flaps, fields }: Alert): [string, string][] {
  const all = {
    event,
    severity,
    ...(channel !== undefined && { channel }),
    since: iso(sinceMs),
    ...(state === 'resolved' && { until: iso(atMs) }),
    ...(flaps > 0 && { flaps }),
    ...fields,
  };
  return Object.entries(all).map(([name, value]) => [name, String(value ?? '-')]);
}

function iso(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
