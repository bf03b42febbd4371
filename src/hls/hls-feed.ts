/**
 * What brings a channel's segments to its window: a cutter of its tape (cut-feed.ts), or a link to the process that cuts them
 * (link/hls/hls-receiver.ts). Owned by ChannelHls.
 */

import type { PlayableAudio } from '../audio/playable-audio.js';
import type { HlsOptions } from '../config/hls-config.js';
import type { HlsWindow } from './window.js';

export interface HlsFeed {
  /** Called when a client requests the channel's playlist. */
  ask(nowMs: number): void;
  /** Called once a second at least. */
  tidy(nowMs: number): void;
  /** Called when another configuration is in force. */
  change(options: HlsOptions): void;
  /** Ends the list; the next segment begins another one. */
  endList(): void;
  /** Whether the window may be listed: an incomplete copy would be an old list. */
  readonly isWhole: boolean;
  /** Resolves when the window has all segments cut so far, wherever they are cut; null: it has them. */
  whole(): Promise<void> | null;
  /** Brings no more segments. */
  stop(): void;
  /** Stops at the end of this process; the tape keeps what the next process needs to continue. */
  hold(): void;
}

/** A channel, or a mount of it, of which HLS is served. */
export interface HlsSource {
  readonly audio: PlayableAudio;
  /** Null: HLS is off. */
  readonly hls: HlsOptions | null;
}

export interface HlsFeeds {
  make(source: HlsSource, options: HlsOptions, window: HlsWindow): HlsFeed;
  /** Whether the channel is cut in another process, which may have segments that are not here. */
  isRemote(channel: string): boolean;
}
