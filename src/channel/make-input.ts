/** Sources made from the configuration, with their settings for the switch. Owned by the channel. */

import type { Clock } from '../base/clock.js';
import { withGetters } from '../base/getters.js';
import type { Log } from '../base/log.js';
import type { ChannelConfig, Config, SourceConfig } from '../config/schema.js';
import type { FileTitleConfig } from '../config/sources/file-config.js';
import { type EncoderOptions, EncoderSource } from '../source/encoder-source.js';
import { FileSource } from '../source/files/file.js';
import type { FileTitle } from '../source/files/file-titles.js';
import type { Input, NextInput } from '../source/input.js';
import { makePull } from './pulled.js';

export type EncoderConfig = Extract<SourceConfig, { type: 'encoder' }>;

export interface InputParts {
  /** The channel's key. */
  readonly key: string;
  readonly config: ChannelConfig;
  readonly all: Config;
  readonly clock: Clock;
  readonly log: Log;
  /** As in FileSource. */
  roomMs(): number;
}

/** The configuration of the channel's encoder; undefined: it takes none. */
export function encoderOf({ sources }: ChannelConfig): EncoderConfig | undefined {
  return sources.find((source) => source.type === 'encoder');
}

function fileTitle({ at, artist, song, album, duration, id }: FileTitleConfig): FileTitle {
  const title = { artist, song, album, durationSeconds: duration, cover: '', ...(id !== '' && { id }) };
  return { atMs: at * 1000, title };
}

export function makeInput(
  config: SourceConfig,
  { key, config: channel, all, clock, log, roomMs }: InputParts,
): NextInput {
  const onDemand = config.type === 'pull' && config.onDemand;
  const lingerMs = config.type === 'pull' ? config.lingerSeconds * 1000 : 0;
  const returnMs = config.type === 'encoder' ? config.lingerSeconds * 1000 : 0;
  const bitrateKbps = config.type === 'file' ? 0 : (channel.bitrateKbps ?? 0);
  const make = (input: Input) => {
    if (config.type === 'file') return new FileSource(input, clock, config.path, roomMs, config.titles.map(fileTitle));
    if (config.type === 'pull') {
      return makePull(config, all, {
        channel: key,
        clock,
        log,
        input,
        get charset() {
          return config.charset ?? channel.charset;
        },
      });
    }
    const encoder = () => encoderOf(channel) ?? config;
    return new EncoderSource(
      input,
      clock,
      withGetters<EncoderOptions>({
        channel: () => key,
        aheadMs: () => all.sources.aheadSeconds * 1000,
        bodyTimeoutMs: () => all.sources.bodyTimeoutSeconds * 1000,
        takeover: () => encoder().takeover,
        silentMs: () => all.sources.stallMs,
        framelessBytes: () => all.sources.framelessBytes,
        facts: () => all.limits,
        charset: () => encoder().charset ?? channel.charset,
        onEvent: () => (event, fields) => input.health.report(event, fields),
        onEnded: () => (connection, reason) => log.info({ channel: key, connection, reason }, 'encoder ended'),
      }),
    );
  };
  return { settings: { onDemand, lingerMs, returnMs, bitrateKbps }, make };
}
