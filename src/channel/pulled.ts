/**
 * A pulled source made from the configuration, and its log lines. URLs and names stay out of the log: a URL may be a secret. Upstreams are
 * counted from 1, in the order of the file. Owned by the channel.
 */

import { lookup } from 'node:dns';
import { readFileSync } from 'node:fs';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { Config, SourceConfig } from '../config/schema.js';
import { basic, Target } from '../net/outbound/target.js';
import { PullSource } from '../source/pull-source.js';
import type { SourceInput } from '../source/source.js';

export type PullConfig = Extract<SourceConfig, { type: 'pull' }>;

export interface PullParts {
  /** The channel's key, for the log and the watchdog. */
  readonly channel: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly input: SourceInput;
  /** The charset of titles that are not UTF-8; read for each. */
  readonly charset: string;
}

/** Throws if the CA file cannot be read. */
export function makePull(config: PullConfig, all: Config, parts: PullParts): PullSource {
  const { channel, clock, log, input } = parts;
  const { limits } = all;
  const password = config.password?.reveal() ?? '';
  const authorization = config.user === '' && password === '' ? undefined : basic(config.user, password);
  return new PullSource(input, clock, {
    channel,
    targets: [config.url].flat().map((url) => Target.named(url, authorization, config.allowPrivate)),
    lookup,
    ca: config.caFile === undefined ? undefined : readFileSync(config.caFile),
    headBytes: limits.upstreamHeadBytes,
    redirects: limits.redirects,
    playlistBytes: limits.playlistBytes,
    playlistEntries: limits.playlistEntries,
    playlistDepth: limits.playlistDepth,
    connectTimeoutMs: config.connectTimeoutSeconds * 1000,
    stallMs: config.stallSeconds * 1000,
    returnMs: config.returnSeconds * 1000,
    retryMinMs: config.retrySeconds.min * 1000,
    retryMaxMs: config.retrySeconds.max * 1000,
    framelessBytes: all.sources.framelessBytes,
    facts: limits,
    get charset() {
      return parts.charset;
    },
    aheadMs: all.sources.aheadSeconds * 1000,
    onPlaying: (index) => log.info({ channel, upstream: index + 1 }, 'upstream plays'),
    onFailed: (index, reason) => log.warn({ channel, upstream: index + 1, reason }, 'upstream failed'),
  });
}
