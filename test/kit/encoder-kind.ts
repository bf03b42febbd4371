/**
 * What is known of an encoder program for the story that all go through (encoder-story.ts): how it is started, what it sends, and what
 * it makes of a refusal. Each program's own file says so; nothing here knows any of them.
 */

import type { Test } from 'tap';
import type { Program } from './program.js';

/** Where to send, and as what. */
export interface Target {
  readonly port: number;
  /** With its slash. */
  readonly mount: string;
  readonly password: string;
  /** A WAV file of a tone, 44.1 kHz, two channels, ten minutes. */
  readonly sound: string;
  /** In place of the program's own; of ffmpeg only. */
  readonly userAgent?: string | undefined;
}

/** How long a refused program is watched from its first try on. */
export const WATCH_MS = 8000;

/** What a program makes of a refused connection, seen for `WATCH_MS`. */
export interface Reaction {
  /** How often it comes, at least and at most: one that comes many times a second is a burden. */
  readonly tries: readonly [number, number];
  /** What it says to its user, on its outputs or where `EncoderKind.words` looks. */
  readonly says?: RegExp;
  /** It gives up: its process ends, or it rests (`EncoderKind.rests`). */
  readonly ends: boolean;
}

/**
 * 401, 404, 409 and 429 (a wrong password, an unknown mount, a mount in use, too many guesses) a program gets by itself. For 400 and
 * 501 (a length that is not a number, a transfer coding that is not taken) its head is changed on the way. Our server never
 * answers an encoder with 503; a proxy before it may.
 */
export type Refusal = 400 | 401 | 404 | 409 | 429 | 501 | 503;

/** What a program knows only as "refused", whatever the status is. */
export function alwaysRefused(reaction: Reaction): Readonly<Record<Refusal, Reaction>> {
  return {
    400: reaction,
    401: reaction,
    404: reaction,
    409: reaction,
    429: reaction,
    501: reaction,
    503: reaction,
  };
}

export interface EncoderKind {
  readonly name: string;
  /** Commands; a test is skipped, in words, where one is missing. */
  readonly needs: readonly string[];
  readonly codec: 'mp3' | 'aac' | 'vorbis' | 'opus' | 'flac';
  /** Resolves when it was started; it need not be connected. */
  start(t: Test, to: Target): Promise<Program>;
  /** Makes it send this title; undefined: it cannot send any. Called when it is heard. */
  readonly title?: (t: Test, program: Program, artist: string, song: string) => Promise<void>;
  /** What it shows to its user beside its outputs: a window, a log file. */
  readonly words?: (program: Program) => Promise<string>;
  /** Whether it runs on but does not come again before its user says so; default: it never does that. */
  readonly rests?: (program: Program) => Promise<boolean>;
  /** Ends it as its user would; default: SIGTERM. */
  readonly stop?: (program: Program) => Promise<void>;
  /** What our server makes of its title; default: artist and song as they were. */
  readonly titleRead?: { readonly artist: string; readonly song: string };
  /** The line that ICY listeners get; default: artist and song with ` - ` between them, or the one that is there. */
  readonly titleLine?: string;
  /** It comes back in the middle of its Ogg stream, without the header pages: none of it can be played before its next link. */
  readonly resumesHeadless?: true;
  readonly refused: Readonly<Partial<Record<Refusal, Reaction>>>;
  /** When the server goes: it comes back by itself within this many milliseconds, it ends, or it runs on and never comes back. */
  readonly onLoss: { readonly backWithinMs: number } | 'ends' | 'stays away';
}
