/**
 * Options of alerts about the server itself: webhooks, and the thresholds of each alert. The options are explained in config/example.yaml, the alerts
 * in src/alerts/README.md.
 */

import { createSecretKey } from 'node:crypto';
import type { z } from 'zod';
import {
  channelKey,
  choice,
  fromEnvironment,
  list,
  parsed,
  retrySeconds,
  seconds,
  section,
  text,
  webUrl,
  whole,
} from './field.js';

const ALERT_EVENTS = [
  ...(['source-lost', 'no-audio', 'silence', 'bitrate-off', 'no-titles', 'tape-lost'] as const),
  ...([
    'store-fault',
    'hls-unwritten',
    'disk-slow',
    'disk-full',
    'certificate',
    'limit-near',
    'process-died',
    'clock-wrong',
  ] as const),
] as const;
export type AlertEvent = (typeof ALERT_EVENTS)[number];

export const ALERT_FORMATS = ['json', 'slack', 'discord', 'teams', 'mail'] as const;
export type AlertFormat = (typeof ALERT_FORMATS)[number];

/** The prefix of a key in base64, in Standard Webhooks. */
const PREFIX = 'whsec_';
const MIN_KEY_BYTES = 24;

export function alertsSchema(env: NodeJS.ProcessEnv) {
  return section({
    webhooks: list(webhookSchema(env), 0, 16).default([]),
    name: text(0, 255).default(''),
    afterSeconds: seconds(0, 3600).default(10),
    againSeconds: seconds(0, 86_400).default(300),
    noTitlesMinutes: whole(0, 10_080).default(0),
    slowSaveMs: whole(1, 600_000).default(1000),
    freeMegabytes: whole(0, 10_000_000).default(256),
    certificateDays: whole(0, 365).default(14),
    limitPercent: whole(1, 100).default(90),
    timeoutSeconds: seconds(0.05, 60).default(10),
    retrySeconds: retrySeconds(300),
    giveUpSeconds: seconds(0, 604_800).default(86_400),
    waiting: whole(1, 100_000).default(1000),
  });
}

function webhookSchema(env: NodeJS.ProcessEnv) {
  return section({
    url: webUrl(),
    secret: webhookSecret(env).optional(),
    format: choice(ALERT_FORMATS).default('json'),
    // Absent: all.
    events: list(choice(ALERT_EVENTS), 1, ALERT_EVENTS.length).optional(),
    channels: list(channelKey(), 1, 10_000).optional(),
  });
}

/** A signing key, as a KeyObject, which does not print it. */
export function webhookSecret(env: NodeJS.ProcessEnv) {
  const error = `must be env: and the name of an environment variable that contains at least ${MIN_KEY_BYTES} bytes of text, or whsec_ and their base64`;
  return parsed(error, (text) => {
    const value = fromEnvironment(text, env) ?? '';
    const key = value.startsWith(PREFIX) ? Buffer.from(value.slice(PREFIX.length), 'base64') : Buffer.from(value);
    return key.length >= MIN_KEY_BYTES ? createSecretKey(key) : undefined;
  });
}

export type AlertsConfig = z.output<ReturnType<typeof alertsSchema>>;
export type WebhookConfig = AlertsConfig['webhooks'][number];
