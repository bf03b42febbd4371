/** HLS where the channels are: it is cut beside their tapes, and workers copy it. */

import type { Channel } from '../../channel/channel.js';
import { type CutFeedParts, cutFeeds } from '../../hls/cut-feed.js';
import { HlsChannels } from '../../hls/hls-channels.js';
import type { HlsOfChannels } from '../../link/hls/hls-sender.js';
import type { TapeNames } from '../../link/tapes/tape-names.js';
import type { Core } from '../core.js';

/** @param names of tapes, as other processes know them */
export function makeHls({ config, clock }: Core, names: TapeNames): HlsChannels {
  const parts: CutFeedParts = {
    clock,
    get silenceMs() {
      return config.streams.silenceSeconds * 1000;
    },
    // Where it forked is left out: what was cut stays, and the audio goes on behind it.
    tapeName: (tape) => {
      const { hub, number } = names.nameOf(tape);
      return `${hub}.${number}`;
    },
  };
  return new HlsChannels(clock, cutFeeds(parts));
}

/** The same as links ask for it. */
export function hlsOfChannels(hls: HlsChannels, channels: ReadonlyMap<string, Channel>): HlsOfChannels {
  // All mounts of a channel have one.
  const sourceOf = (channel: string) => channels.get(channel)?.served.mounts[0];
  return {
    askHls: (channel) => {
      const source = sourceOf(channel);
      return source === undefined ? null : hls.ask(source);
    },
    hlsOf: (channel) => {
      const source = sourceOf(channel);
      return source === undefined ? undefined : hls.of(source);
    },
  };
}
