/** The HLS of all channels, by channel: of those whose playlist was ever asked for. One window for all mounts of a channel. */

import type { AudioTape } from '../audio/tape/audio-tape.js';
import { ChannelHls, type ChannelHlsParts, type HlsState } from './channel-hls.js';
import { type DatedMark, datedMarks } from './dated-marks.js';
import type { HlsSource } from './hls-feed.js';
import { INIT_NAME, SEGMENT_NAME } from './hls-schema.js';
import type { HlsFile } from './playlist.js';
import type { Rewinds } from './rewind/rewinds.js';
import type { HlsWindow } from './window.js';

/** How often it is looked whether rewinds have what is too old. */
const TRIM_MS = 60_000;
const NO_FAULTS: ReadonlyMap<string, string> = new Map();

export interface HlsChannelsParts extends ChannelHlsParts {
  readonly rewinds: Rewinds;
  /** Names a tape in all processes that ever have it. */
  tapeName(tape: AudioTape): string;
}

export class HlsChannels {
  readonly #channels = new Map<string, ChannelHls>();
  readonly #parts: HlsChannelsParts;
  #trimmedMs = Number.NEGATIVE_INFINITY;

  constructor(parts: HlsChannelsParts) {
    this.#parts = parts;
  }

  /** A channel's playlist is asked for; null: it has no HLS. */
  ask(source: HlsSource): ChannelHls | null {
    const channel = this.#channelOf(source);
    channel?.ask();
    return channel;
  }

  /** As it is, whether anybody asks or not; undefined: nobody did, and the process before this one has left nothing that is known yet. */
  of({ audio }: HlsSource): ChannelHls | undefined {
    return this.#channels.get(audio.key);
  }

  /** The same, where what the process before this one has left counts, and what is cut elsewhere. */
  look(source: HlsSource): ChannelHls | undefined {
    if (this.#parts.files === undefined) return this.of(source);
    const channel = this.#channelOf(source);
    void channel?.follow();
    return channel ?? undefined;
  }

  /** The titles of its tape at their dates, as far as they are listed; null: the tape is not here. */
  titles(source: HlsSource): readonly DatedMark[] | null {
    const { tape } = source.audio;
    const channel = this.of(source);
    if (tape === undefined || channel === undefined || tape.head < (tape.comesTo ?? 1)) return null;
    return datedMarks(tape, this.#parts.tapeName(tape), channel.window);
  }

  /** As ChannelHls has it. */
  follow(source: HlsSource): void {
    void this.#channelOf(source)?.follow();
  }

  /** A segment, or what some need, by its name; a promise: it may have to come from where it is cut. */
  file(source: HlsSource, name: string): HlsFile | undefined | Promise<HlsFile | undefined> {
    const channel = this.#channelOf(source);
    const file = channel?.window.file(name);
    const isRewound = (source.hls?.rewindHours ?? 0) > 0 && (SEGMENT_NAME.test(name) || INIT_NAME.test(name));
    if (file !== undefined || channel === null || !isRewound) return file ?? channel?.find(name) ?? undefined;
    return this.#parts.rewinds.file(source.audio.key, name).then((read) => read ?? channel.find(name) ?? undefined);
  }

  /** The playlist of its rewind; null: there is nothing to list yet. Never rejects. */
  rewind({ audio }: HlsSource): Promise<string | null> {
    return this.#parts.rewinds.playlist(audio.key);
  }

  /** Channels that are cut or copied now, or of which something is kept. */
  get active(): string[] {
    return [...this.#channels].filter(([, { isAtRest }]) => !isAtRest).map(([key]) => key);
  }

  /** Those that were ever asked for. */
  get all(): { readonly key: string; readonly state: HlsState; readonly window: HlsWindow }[] {
    return [...this.#channels].map(([key, { state, window }]) => ({ key, state, window }));
  }

  stateOf(channel: string): HlsState {
    return this.#channels.get(channel)?.state ?? 'resting';
  }

  /** How often segments could not be written. */
  get unwritten(): number {
    return this.#parts.files?.unwritten ?? 0;
  }

  /** Channels whose segments cannot be written to files: why. */
  get faults(): ReadonlyMap<string, string> {
    return this.#parts.files?.faults ?? NO_FAULTS;
  }

  /** The rewinds that are kept here, as they are listed. */
  get rewinds(): Rewinds['written'] {
    return this.#parts.rewinds.written;
  }

  /** Once a second. */
  tidy(nowMs: number): void {
    for (const channel of this.#channels.values()) if (!channel.isAtRest || channel.isAlways) channel.tidy(nowMs);
    this.#parts.rewinds.tidy(nowMs);
    if (nowMs - this.#trimmedMs < TRIM_MS) return;
    this.#trimmedMs = nowMs;
    this.#parts.files?.trim();
  }

  /** Another configuration is in force. @param sources all channels, as they are now */
  refresh(sources: Iterable<HlsSource>): void {
    const byKey = new Map([...sources].map((source) => [source.audio.key, source]));
    for (const [key, channel] of this.#channels) {
      channel.refresh();
      if (byKey.get(key)?.audio === channel.audio) continue;
      // What has its place goes on with its files.
      this.#parts.files?.leave(key);
      channel.stop();
      this.#channels.delete(key);
    }
    if (this.#parts.files !== undefined) {
      for (const source of byKey.values()) if ((source.hls?.rewindHours ?? 0) > 0) this.#channelOf(source);
    }
    void this.#parts.files?.tidy((key) => (byKey.get(key)?.hls ?? null) !== null);
  }

  /** The channel is fed in another process from now on, or here. */
  refeed(channel: string): void {
    this.#channels.get(channel)?.refeed();
  }

  /** Nothing comes any more; what was cut is kept for the next process. Resolves when it is written; never rejects. */
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
