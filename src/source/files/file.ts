/**
 * A file that is played for ever, as the last resort of a channel: a player (file-player.ts) for each time that it is started. Invariant:
 * at most one player passes anything on, whatever the one before still waits for. Owned by the switch.
 */

import type { AudioFormat } from '../../audio/frames/audio-format.js';
import type { Clock } from '../../base/clock.js';
import { contentTag } from '../../metadata/etag.js';
import type { Source, SourceInput, SourceState } from '../source.js';
import { audioFormat } from './audio-file.js';
import { type FilePlace, FilePlayer } from './file-player.js';
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
  #place: FilePlace | null = null;
  format: AudioFormat | null = null;
  /** A disk that hangs is asked once. */
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

  /** Where it cannot be read, the player will say so. */
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
    void this.#player.play(this.#place);
    this.#place = null;
  }

  /** Null: none that another process could go on with. */
  get place(): FilePlace | null {
    return this.#player?.place ?? null;
  }

  /** The next start goes on where the file was in another process. */
  adopt(place: FilePlace): void {
    this.#place = place;
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
