/** HLS in the process of the channels: cut from their tapes, kept in files, and copied by workers. */

import { join } from 'node:path';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import { withGetters } from '../../base/getters.js';
import type { Channel } from '../../channel/channel.js';
import type { ServedChannel } from '../../channel/served.js';
import type { HlsOfNode } from '../../cluster/tapes/tape-giving.js';
import { CutFeed, type CutFeedParts } from '../../hls/cut-feed.js';
import { HlsChannels } from '../../hls/hls-channels.js';
import type { HlsFeeds, HlsSource } from '../../hls/hls-feed.js';
import { HlsFiles } from '../../hls/hls-files.js';
import { Rewinds } from '../../hls/rewind/rewinds.js';
import type { HlsReceiver } from '../../link/hls/hls-receiver.js';
import { TapeNames } from '../../link/tapes/tape-names.js';
import type { Core } from '../core.js';

/** Of the data folder. */
const FOLDER = 'hls';

/**
 * Cut here, or copied from the machine that feeds the channel.
 * @param names of tapes, as other processes know them @param remote the source of a copied channel; undefined: it is fed here
 */
export function makeHls(
  core: Core,
  names: TapeNames,
  remote: (channel: string) => HlsReceiver | undefined = () => undefined,
): HlsChannels {
  const { config, clock, log } = core;
  const silenceMs = () => config.streams.silenceSeconds * 1000;
  const rewinds = makeRewinds(core);
  const files = new HlsFiles(join(config.data.folder, FOLDER), {
    clock,
    rewinds,
    onDamaged: (channel, err) =>
      log.error({ channel, err }, 'HLS: the stored segments of this channel cannot be read: starting afresh'),
  });
  const tapeName = tapeNameOf(names);
  const cut = withGetters<CutFeedParts>({ clock: () => clock, silenceMs, tapeName: () => tapeName });
  const feeds: HlsFeeds = {
    make: (source, options, window) =>
      remote(source.audio.key)?.copy(source, window) ?? new CutFeed(source, options, window, cut),
    isRemote: (channel) => remote(channel) !== undefined,
  };
  return new HlsChannels(
    withGetters({
      clock: () => clock,
      feeds: () => feeds,
      files: () => files,
      rewinds: () => rewinds,
      silenceMs,
      tapeName: () => tapeName,
    }),
  );
}

/** Any process serves them, from the same files. */
function makeRewinds({ config, clock, repeats }: Core): Rewinds {
  return new Rewinds({
    folder: join(config.data.folder, FOLDER),
    clock,
    onDamaged: (channel, err) =>
      repeats.warn('rewind', { channel, err }, 'HLS: part of the rewind cannot be read: skipping it'),
  });
}

/** Copied from the hub. */
export function copyHls(core: Core, receiver: HlsReceiver): HlsChannels {
  const { config, clock } = core;
  const feeds: HlsFeeds = {
    make: (source, _options, window) => receiver.copy(source, window),
    isRemote: () => true,
  };
  const silenceMs = () => config.streams.silenceSeconds * 1000;
  // Tapes that come over a link have their names.
  const tapeName = tapeNameOf(new TapeNames());
  const rewinds = makeRewinds(core);
  return new HlsChannels(
    withGetters({
      clock: () => clock,
      feeds: () => feeds,
      files: () => undefined,
      rewinds: () => rewinds,
      silenceMs,
      tapeName: () => tapeName,
    }),
  );
}

/** Without its forks: what was cut stays, and the audio continues after it. */
function tapeNameOf(names: TapeNames): (tape: AudioTape) => string {
  return (tape) => {
    const { hub, number } = names.nameOf(tape);
    return `${hub}.${number}`;
  };
}

/** What is served as HLS: all mounts of a channel have one. */
export function* sourcesOf(channels: Iterable<ServedChannel>): Generator<HlsSource> {
  for (const { mounts } of channels) if (mounts[0] !== undefined) yield mounts[0];
}

/** The same as links ask for it. */
export function hlsOfChannels(hls: HlsChannels, channels: ReadonlyMap<string, Channel>): HlsOfNode {
  // All mounts of a channel have one.
  const sourceOf = (channel: string) => channels.get(channel)?.served.mounts[0];
  return {
    askHls: (channel) => {
      const source = sourceOf(channel);
      return source === undefined ? null : hls.ask(source);
    },
    hlsOf: (channel) => {
      const source = sourceOf(channel);
      return source === undefined ? undefined : hls.look(source);
    },
    followHls: (channel) => {
      const source = sourceOf(channel);
      if (source !== undefined) hls.follow(source);
    },
  };
}
