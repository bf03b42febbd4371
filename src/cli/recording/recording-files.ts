/**
 * The files of a recording: the audio, in one file or one for each title, and the list of titles as JSON and, for one file, as a cue sheet.
 * The lists are rewritten with each title, at most once a second, so that they are there however the recording ends. Beyond MAX_TITLES or
 * MAX_CHARACTERS titles are ignored.
 */

import { closeSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { splitTitle } from '../../metadata/title.js';
import { fileText, openNew, reserveNew } from '../setup/new-file.js';
import type { RecordedParts } from './stream-recorder.js';

interface RecordedTitle {
  readonly title: string;
  /** Seconds of audio from the beginning of the recording. */
  readonly startSeconds: number;
  /** When it arrived, RFC 3339. */
  readonly at: string;
  readonly file: string;
}

export interface RecordingOptions {
  readonly url: string;
  /** Path without the extension; with `isSplit` a folder. */
  readonly base: string;
  /** Extension of the audio files. */
  readonly ending: string;
  readonly isSplit: boolean;
  /** A file was opened. */
  readonly onFile: (path: string, title: string) => void;
  /** Maximum length of the audio, milliseconds; not applied to Ogg, which has no durations here. */
  readonly untilMs: number;
  /** `untilMs` is reached; later audio is ignored. */
  readonly onEnd: () => void;
  /** A new file begins: players will not have the audio before it. */
  readonly onCut: () => void;
}

/** How long audio waits for its title, which arrives a moment after it. */
const FIRST_MS = 3000;
/** A cue sheet has two digits for a track number. */
const MAX_TRACKS = 99;
const FRAMES_PER_SECOND = 75;
/** Weeks of music; the characters are the sum of all titles, since the list is written whole. */
const MAX_TITLES = 20_000;
const MAX_CHARACTERS = 2_097_152;
const LIST_MS = 1000;
/** Extensions of the lists beside a single audio file. */
const LISTS = ['json', 'cue'];

export class RecordingFiles implements RecordedParts {
  readonly #options: RecordingOptions;
  readonly #startedAt = new Date().toISOString();
  readonly #titles: RecordedTitle[] = [];
  #characters = 0;
  /** Audio before the first title, at most FIRST_MS; null: a file is open. */
  #waiting: Buffer[] | null = [];
  #waitingMs = 0;
  #fd: number | null = null;
  #path = '';
  #audioMs = 0;
  /** With `isSplit`: the path of the list. */
  #splitList: string | null = null;
  /** When the list was last written (monotonic ms). */
  #listedMs = Number.NEGATIVE_INFINITY;
  #isListOld = false;

  constructor(options: RecordingOptions) {
    this.#options = options;
  }

  get seconds(): number {
    return this.#audioMs / 1000;
  }

  /** Whether there is a file: none while audio waits for a title. */
  get hasFile(): boolean {
    return this.#path !== '';
  }

  audio(bytes: Buffer, durationMs: number): void {
    const { untilMs, onEnd } = this.#options;
    if (this.#audioMs >= untilMs) return;
    if (this.#waiting !== null) {
      this.#waiting.push(Buffer.from(bytes));
      this.#waitingMs += durationMs;
      // Ogg must not wait: it has no durations here, and may have no titles.
      if (durationMs === 0 || this.#waitingMs > FIRST_MS) this.#first('');
    } else writeFileSync(this.#fd!, bytes);
    if (this.#isListOld) this.#writeList();
    this.#audioMs += durationMs;
    if (this.#audioMs >= untilMs) onEnd();
  }

  title(title: string): void {
    if (this.#waiting !== null) {
      this.#first(title);
      return;
    }
    if (this.#titles.length >= MAX_TITLES || this.#characters + title.length > MAX_CHARACTERS) return;
    if (this.#options.isSplit) {
      this.#options.onCut();
      this.#open(title);
    }
    this.#list(title, this.#audioMs);
  }

  /** Idempotent. */
  close(): void {
    if (this.#waiting !== null && this.#waiting.length > 0) this.#first('');
    this.#listedMs = Number.NEGATIVE_INFINITY;
    if (this.#isListOld) this.#writeList();
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  #first(title: string): void {
    const waiting = this.#waiting!;
    this.#waiting = null;
    this.#open(title);
    for (const bytes of waiting) writeFileSync(this.#fd!, bytes);
    this.#list(title, 0);
  }

  #open(title: string): void {
    const { base, ending, isSplit, onFile } = this.#options;
    if (this.#fd !== null) closeSync(this.#fd);
    const number = String(this.#titles.length + 1).padStart(3, '0');
    const name = [number, fileText(title)].filter((part) => part !== '').join('-');
    const { path, fd } = isSplit ? openNew(join(base, name), ending) : openNew(base, ending, LISTS);
    this.#fd = fd;
    this.#path = path;
    onFile(path, title);
  }

  #list(title: string, startMs: number): void {
    const at = new Date().toISOString();
    this.#characters += title.length;
    this.#titles.push({ title, startSeconds: Math.round(startMs) / 1000, at, file: basename(this.#path) });
    this.#isListOld = true;
    this.#writeList();
  }

  #writeList(): void {
    const nowMs = performance.now();
    if (nowMs - this.#listedMs < LIST_MS) return;
    this.#listedMs = nowMs;
    this.#isListOld = false;
    const { base, isSplit, url } = this.#options;
    // The list gets a number if the folder has a recording already, as its audio does.
    if (isSplit) this.#splitList ??= reserveNew(join(base, 'titles'), 'json');
    const beside = (this.#splitList ?? this.#path).replace(/\.[^.]*$/, '');
    const all = { url, startedAt: this.#startedAt, titles: this.#titles };
    replace(`${beside}.json`, `${JSON.stringify(all, null, 2)}\n`);
    if (!isSplit) replace(`${beside}.cue`, cueSheet(basename(this.#path), this.#titles));
  }
}

/** @param file name of the audio file */
export function cueSheet(file: string, titles: readonly Pick<RecordedTitle, 'title' | 'startSeconds'>[]): string {
  const tracks = titles.slice(0, MAX_TRACKS).map(({ title, startSeconds }, i) => {
    const { artist, song } = splitTitle(title);
    const performer = artist === '' ? '' : `    PERFORMER "${quoted(artist)}"\n`;
    const number = String(i + 1).padStart(2, '0');
    return `  TRACK ${number} AUDIO\n    TITLE "${quoted(song)}"\n${performer}    INDEX 01 ${cueTime(startSeconds)}\n`;
  });
  return `FILE "${quoted(file)}" MP3\n${tracks.join('')}`;
}

/** A cue sheet cannot express a quote. */
function quoted(text: string): string {
  return text.replaceAll('"', "'").replace(/\p{Cc}/gu, ' ');
}

/** Minutes, seconds, 75ths. */
function cueTime(seconds: number): string {
  const frames = Math.round(seconds * FRAMES_PER_SECOND);
  const whole = Math.floor(frames / FRAMES_PER_SECOND);
  const parts = [Math.floor(whole / 60), whole % 60, frames % FRAMES_PER_SECOND];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

/** Readers see the old or the new list, never part of one. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
