/**
 * The titles of a file in one round of it: which is due behind the audio that was passed on. Each stands at the edge of a frame that is nearest.
 * Owned by a player.
 */

import type { SourceTitle } from '../source.js';

/** A title of what is in a file. */
export interface FileTitle {
  /** Its place, in audio from the beginning of the file. */
  readonly atMs: number;
  readonly title: SourceTitle;
}

/** A place among them, as plain data: how much audio of the file was passed on, and how many titles were said. */
export interface TitlesPlace {
  readonly audioMs: number;
  readonly titles: number;
}

export class FileTitles {
  readonly #titles: readonly FileTitle[];
  #audioMs = 0;
  #halfFrameMs = 0;
  #said = 0;

  /** @param titles in the order of their places */
  constructor(titles: readonly FileTitle[]) {
    this.#titles = titles;
  }

  get isNone(): boolean {
    return this.#titles.length === 0;
  }

  get place(): TitlesPlace {
    return { audioMs: this.#audioMs, titles: this.#said };
  }

  /** A round begins, or goes on. @param place undefined: it is not known what was said */
  begin(place: TitlesPlace | undefined = { audioMs: 0, titles: this.#titles.length }): void {
    this.#audioMs = place.audioMs;
    this.#said = place.titles;
  }

  pass(frameMs: number): void {
    this.#audioMs += frameMs;
    this.#halfFrameMs = frameMs / 2;
  }

  get isDue(): boolean {
    const next = this.#titles[this.#said];
    return next !== undefined && next.atMs - this.#audioMs <= this.#halfFrameMs;
  }

  /** The last one that is due, which is said now; undefined: none is. */
  take(): SourceTitle | undefined {
    let due: FileTitle | undefined;
    while (this.isDue) due = this.#titles[this.#said++];
    return due?.title;
  }
}
