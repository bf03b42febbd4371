/** The HLS of all channels, by channel: of those whose playlist was ever asked for. One window for all mounts of a channel. */

import { ChannelHls, type HlsSource, type HlsTiming } from './channel-hls.js';

export class HlsChannels {
  readonly #channels = new Map<string, ChannelHls>();
  readonly #timing: HlsTiming;

  constructor(timing: HlsTiming) {
    this.#timing = timing;
  }

  /** A channel's playlist is asked for; null: it has no HLS. */
  ask(source: HlsSource): ChannelHls | null {
    const { hls, audio } = source;
    if (hls === null) return null;
    let channel = this.#channels.get(audio.key);
    if (channel === undefined) {
      channel = new ChannelHls(source, hls, this.#timing);
      this.#channels.set(audio.key, channel);
    }
    channel.ask();
    return channel;
  }

  /** As it is, whether anybody asks or not. */
  of({ audio }: HlsSource): ChannelHls | undefined {
    return this.#channels.get(audio.key);
  }

  /** Once a second. */
  tidy(nowMs: number): void {
    for (const channel of this.#channels.values()) if (!channel.isAtRest) channel.tidy(nowMs);
  }

  /** Another configuration is in force. @param audioOf the channel's, as it is now; undefined: it is gone */
  refresh(audioOf: (key: string) => HlsSource['audio'] | undefined): void {
    for (const [key, channel] of this.#channels) {
      channel.refresh();
      if (audioOf(key) === channel.audio) continue;
      channel.stop();
      this.#channels.delete(key);
    }
  }

  close(): void {
    for (const channel of this.#channels.values()) channel.stop();
  }
}
