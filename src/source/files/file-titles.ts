/**
 * The titles of a file in one round: which one is due after the audio that was passed on. Each is placed at the nearest edge of a frame.
 * Owned by a player.
 */

import type { SourceTitle } from '../source.js';

/** A title within a file. */
export interface FileTitle {
  /** Its place, in audio from the beginning of the file. */
  readonly atMs: number;
  readonly title: SourceTitle;
}

/** A position among them, as plain data: how much audio of the file was passed on, and how many titles were sent. */
export interface TitlesPosition {
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

  get position(): TitlesPosition {
    return { audioMs: this.#audioMs, titles: this.#said };
  }

  /** A round begins, or goes on. @param position undefined: it is unknown which titles were sent */
  begin(position: TitlesPosition | undefined = { audioMs: 0, titles: this.#titles.length }): void {
    this.#audioMs = position.audioMs;
    this.#said = position.titles;
  }

  pass(frameMs: number): void {
    this.#audioMs += frameMs;
    this.#halfFrameMs = frameMs / 2;
  }

  get isDue(): boolean {
    const next = this.#titles[this.#said];
    return next !== undefined && next.atMs - this.#audioMs <= this.#halfFrameMs;
  }

  /** The last one that is due, to be sent now; undefined: none. */
  take(): SourceTitle | undefined {
    let due: FileTitle | undefined;
    while (this.isDue) due = this.#titles[this.#said++];
    return due?.title;
  }
}
