/** The HLS of all channels whose playlist was ever requested. The mounts of a channel share one window. */

import type { AudioTape } from '../audio/tape/audio-tape.js';
import { ChannelHls, type ChannelHlsParts, type HlsState } from './channel-hls.js';
import { type DatedMark, datedMarks } from './dated-marks.js';
import type { HlsSource } from './hls-feed.js';
import { INIT_NAME, SEGMENT_NAME } from './hls-schema.js';
import type { HlsFile } from './playlist.js';
import type { Rewinds } from './rewind/rewinds.js';
import type { HlsWindow } from './window.js';

/** How often old segments are removed from rewinds. */
const TRIM_MS = 60_000;
const NO_FAULTS: ReadonlyMap<string, string> = new Map();

export interface HlsChannelsParts extends ChannelHlsParts {
  readonly rewinds: Rewinds;
  /** Returns the tape's name, the same in all processes. */
  tapeName(tape: AudioTape): string;
}

export class HlsChannels {
  readonly #channels = new Map<string, ChannelHls>();
  readonly #parts: HlsChannelsParts;
  #trimmedMs = Number.NEGATIVE_INFINITY;

  constructor(parts: HlsChannelsParts) {
    this.#parts = parts;
  }

  /** Called when a channel's playlist is requested. Null: HLS is off. */
  ask(source: HlsSource): ChannelHls | null {
    const channel = this.#channelOf(source);
    channel?.ask();
    return channel;
  }

  /** Returns the channel's HLS without counting a request; undefined if it has not been needed so far. */
  of({ audio }: HlsSource): ChannelHls | undefined {
    return this.#channels.get(audio.key);
  }

  /** Does the same, and first starts to read the previous process's files or to copy from the process that cuts. */
  look(source: HlsSource): ChannelHls | undefined {
    if (this.#parts.files === undefined) return this.of(source);
    const channel = this.#channelOf(source);
    void channel?.follow();
    return channel ?? undefined;
  }

  /** Returns the titles of its tape with their dates, as far as they are listed; null if the tape is not here. */
  titles(source: HlsSource): readonly DatedMark[] | null {
    const { tape } = source.audio;
    const channel = this.of(source);
    if (tape === undefined || channel === undefined || tape.head < (tape.comesTo ?? 1)) return null;
    return datedMarks(tape, this.#parts.tapeName(tape), channel.window);
  }

  follow(source: HlsSource): void {
    void this.#channelOf(source)?.follow();
  }

  /** Returns the segment or initialization section of this name, or a promise if it must be read or fetched from the process that cuts. */
  file(source: HlsSource, name: string): HlsFile | undefined | Promise<HlsFile | undefined> {
    const channel = this.#channelOf(source);
    const file = channel?.window.file(name);
    const isRewound = (source.hls?.rewindHours ?? 0) > 0 && (SEGMENT_NAME.test(name) || INIT_NAME.test(name));
    if (file !== undefined || channel === null || !isRewound) return file ?? channel?.find(name) ?? undefined;
    return this.#parts.rewinds.file(source.audio.key, name).then((read) => read ?? channel.find(name) ?? undefined);
  }

  /** Resolves with the playlist of its rewind; null if that is empty. Never rejects. */
  rewind({ audio }: HlsSource): Promise<string | null> {
    return this.#parts.rewinds.playlist(audio.key);
  }

  /** Channels that are being cut, copied or restored, or have segments. */
  get active(): string[] {
    return [...this.#channels].filter(([, { isAtRest }]) => !isAtRest).map(([key]) => key);
  }

  /** All channels whose playlist was ever requested. */
  get all(): { readonly key: string; readonly state: HlsState; readonly window: HlsWindow }[] {
    return [...this.#channels].map(([key, { state, window }]) => ({ key, state, window }));
  }

  stateOf(channel: string): HlsState {
    return this.#channels.get(channel)?.state ?? 'resting';
  }

  /** The number of failed writes of segments. */
  get unwritten(): number {
    return this.#parts.files?.unwritten ?? 0;
  }

  /** The channels whose segments cannot be written, with the reasons. */
  get faults(): ReadonlyMap<string, string> {
    return this.#parts.files?.faults ?? NO_FAULTS;
  }

  /** The rewinds that this process writes. */
  get rewinds(): Rewinds['written'] {
    return this.#parts.rewinds.written;
  }

  /** Called once a second. */
  tidy(nowMs: number): void {
    for (const channel of this.#channels.values()) if (!channel.isAtRest || channel.isAlways) channel.tidy(nowMs);
    this.#parts.rewinds.tidy(nowMs);
    if (nowMs - this.#trimmedMs < TRIM_MS) return;
    this.#trimmedMs = nowMs;
    this.#parts.files?.trim();
  }

  /** Called when another configuration is in force. @param sources all channels of that */
  refresh(sources: Iterable<HlsSource>): void {
    const byKey = new Map([...sources].map((source) => [source.audio.key, source]));
    for (const [key, channel] of this.#channels) {
      channel.refresh();
      if (byKey.get(key)?.audio === channel.audio) continue;
      // A channel of the same key continues with its files.
      this.#parts.files?.leave(key);
      channel.stop();
      this.#channels.delete(key);
    }
    if (this.#parts.files !== undefined) {
      for (const source of byKey.values()) if ((source.hls?.rewindHours ?? 0) > 0) this.#channelOf(source);
    }
    void this.#parts.files?.tidy((key) => (byKey.get(key)?.hls ?? null) !== null);
  }

  /** Called when the channel is fed by another process from now on, or by this one. */
  refeed(channel: string): void {
    this.#channels.get(channel)?.refeed();
  }

  /** Stops all, and keeps what was cut for the next process. Resolves when it is written; never rejects. */
  async close(): Promise<void> {
    for (const channel of this.#channels.values()) channel.hold();
    await this.#parts.files?.settled();
  }

  #channelOf(source: HlsSource): ChannelHls | null {
    const { hls, audio } = source;
    if (hls === null) return null;
    let channel = this.#channels.get(audio.key);
    if (channel === undefined) {
      channel = new ChannelHls(source, hls, this.#parts);
      this.#channels.set(audio.key, channel);
    }
    return channel;
  }
}
