/**
 * A pulled source made from the configuration, and what the log tells of it. URLs and names stay out of the log: an URL may be
 * a secret. They are counted from 1, as they stand in the file. Owned by the programme.
 */

import { lookup } from 'node:dns';
import { readFileSync } from 'node:fs';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { Config, SourceConfig } from '../config/schema.js';
import { basic, Target } from '../net/target.js';
import { PullSource } from '../source/pull.js';
import type { SourceInput } from '../source/source.js';

export type PullConfig = Extract<SourceConfig, { type: 'pull' }>;

/** Throws where the CA file cannot be read. @param channel its key, for the log and the watchdog */
export function makePull(
  channel: string,
  config: PullConfig,
  all: Config,
  clock: Clock,
  log: Log,
  input: SourceInput,
): PullSource {
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
    aheadMs: all.sources.aheadSeconds * 1000,
    onPlaying: (index) => log.info({ channel, upstream: index + 1 }, 'upstream plays'),
    onFailed: (index, reason) => log.warn({ channel, upstream: index + 1, reason }, 'upstream failed'),
  });
}
