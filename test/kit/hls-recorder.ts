/** Loads a channel's HLS as a player does: the playlist at intervals, each segment once. The recording can be played as a file. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type ReadSegment, readPlaylist } from './hls-channel.js';

/** Interval of requests for the playlist. */
const ASK_MS = 1000;

export class HlsRecorder {
  /** Segments by name. */
  readonly bytes = new Map<string, Buffer>();
  readonly segments: ReadSegment[] = [];
  readonly playlists: string[] = [];
  /** Initialization sections by name. */
  readonly inits = new Map<string, Buffer>();
  readonly #url: string;
  /** The requests under way; null: none. */
  #loading: Promise<void> | null = null;

  /** @param url of the media playlist */
  constructor(t: Test, url: string) {
    this.#url = url;
    const timer = setInterval(() => {
      this.#loading ??= this.#load().finally(() => {
        this.#loading = null;
      });
    }, ASK_MS);
    t.teardown(async () => {
      clearInterval(timer);
      // Must end before the server stops.
      await this.#loading;
    });
  }

  /** Total duration of the segments by their playlists. */
  get seconds(): number {
    return this.segments.reduce((sum, { seconds }) => sum + seconds, 0);
  }

  /** Writes the segments and a finite playlist. @returns its path */
  write(folder: string, targetSeconds: number): string {
    const lines = ['#EXTM3U', '#EXT-X-VERSION:7', `#EXT-X-TARGETDURATION:${targetSeconds}`, '#EXT-X-MEDIA-SEQUENCE:0'];
    for (const [name, bytes] of this.inits) writeFileSync(join(folder, name), bytes);
    for (const [i, { name, seconds, isDiscontinuity, init }] of this.segments.entries()) {
      if (isDiscontinuity) lines.push('#EXT-X-DISCONTINUITY');
      const isMapped = init !== null && (isDiscontinuity || init !== this.segments[i - 1]?.init);
      if (isMapped) lines.push(`#EXT-X-MAP:URI="${init}"`);
      lines.push(`#EXTINF:${seconds.toFixed(6)},`, name);
      writeFileSync(join(folder, name), this.bytes.get(name)!);
    }
    const path = join(folder, 'recorded.m3u8');
    writeFileSync(path, `${[...lines, '#EXT-X-ENDLIST'].join('\n')}\n`);
    return path;
  }

  async #fetch(name: string): Promise<Buffer> {
    return Buffer.from(await (await fetch(new URL(name, this.#url))).arrayBuffer());
  }

  async #load(): Promise<void> {
    const answer = await fetch(this.#url);
    const text = await answer.text();
    if (answer.status !== 200) return;
    this.playlists.push(text);
    for (const segment of readPlaylist(text).segments) {
      if (this.bytes.has(segment.name)) continue;
      const { init } = segment;
      if (init !== null && !this.inits.has(init)) this.inits.set(init, await this.#fetch(init));
      this.bytes.set(segment.name, await this.#fetch(segment.name));
      this.segments.push(segment);
    }
  }
}
