/**
 * A file that is played endlessly, as the last resort of a channel: each start creates a player (file-player.ts). Invariant: at most one player
 * passes anything on, whatever the former one still waits for. Owned by the switch.
 */

import type { AudioFormat } from '../../audio/frames/audio-format.js';
import type { Clock } from '../../base/clock.js';
import { contentTag } from '../../metadata/etag.js';
import type { Source, SourceInput, SourceState } from '../source.js';
import { audioFormat } from './audio-file.js';
import { FilePlayer, type FilePosition } from './file-player.js';
import type { FileTitle } from './file-titles.js';

export class FileSource implements Source {
  readonly kind = 'file';
  readonly #input: SourceInput;
  readonly #clock: Clock;
  readonly #path: string;
  readonly #roomMs: () => number;
  readonly #titles: readonly FileTitle[];
  /** As Source has it. */
  readonly sender: string | undefined;
  #player: FilePlayer | null = null;
  #position: FilePosition | null = null;
  format: AudioFormat | null = null;
  /** One look at a time, as a disk may hang. */
  #isLooking = false;

  /**
   * @param path absolute, or relative to the process; looked at only after `start`
   * @param roomMs how much audio the channel's delay line lacks, milliseconds @param titles in the order of their places
   */
  constructor(input: SourceInput, clock: Clock, path: string, roomMs = () => 0, titles: readonly FileTitle[] = []) {
    this.#input = input;
    this.#clock = clock;
    this.#path = path;
    this.#roomMs = roomMs;
    this.#titles = titles;
    this.sender = titles.length > 0 ? contentTag(path) : undefined;
  }

  get state(): SourceState {
    if (this.#player === null) return 'idle';
    return this.#player.isUp ? 'up' : 'starting';
  }

  get contentType(): string | undefined {
    return this.#player?.contentType;
  }

  /** If it cannot be read, the player reports that. */
  look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const found = (format: AudioFormat | null) => {
      this.#isLooking = false;
      this.format = format;
    };
    void audioFormat(this.#path).then(found, () => found(null));
  }

  start(): void {
    if (this.#player !== null) return;
    this.#player = new FilePlayer(this.#input, this.#clock, this.#path, this.#roomMs, this.#titles);
    void this.#player.play(this.#position);
    this.#position = null;
  }

  /** Null: nothing that another process could continue. */
  get position(): FilePosition | null {
    return this.#player?.position ?? null;
  }

  /** The next start continues at the position of another process. */
  adopt(position: FilePosition): void {
    this.#position = position;
  }

  rest(): boolean {
    return this.#player?.rest() ?? false;
  }

  get isResting(): boolean {
    return this.#player?.isResting ?? false;
  }

  wake(): void {
    this.#player?.wake();
  }

  stop(): void {
    this.#player?.end();
    this.#player = null;
  }
}
