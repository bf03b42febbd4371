/**
 * What brings a channel's segments to its window: a cutter of its tape (cut-feed.ts), or a link to the process that cuts them
 * (link/hls/hls-receiver.ts). Owned by ChannelHls.
 */

import type { PlayableAudio } from '../audio/playable-audio.js';
import type { HlsOptions } from '../config/hls-config.js';
import type { HlsWindow } from './window.js';

export interface HlsFeed {
  /** The channel's playlist is asked for. */
  ask(nowMs: number): void;
  /** Once a second at least. */
  tidy(nowMs: number): void;
  /** Another configuration is in force. */
  change(options: HlsOptions): void;
  /** What comes next begins another list. */
  endList(): void;
  /** Whether the window may be listed: a part of a copy would be an old list. */
  readonly isWhole: boolean;
  /** Resolves when the window has what there is by now, wherever it is cut; null: it has. */
  whole(): Promise<void> | null;
  /** No segment comes from it any more. */
  stop(): void;
  /** The same at the end of this process: the tape keeps what the next one needs to go on. */
  hold(): void;
}

/** A channel as it is served; one mount of it or another. */
export interface HlsSource {
  readonly audio: PlayableAudio;
  /** Null: it has no HLS. */
  readonly hls: HlsOptions | null;
}

export interface HlsFeeds {
  make(source: HlsSource, options: HlsOptions, window: HlsWindow): HlsFeed;
  /** Whether the channel is cut in another process, which may have segments that are not here. */
  isElsewhere(channel: string): boolean;
}
