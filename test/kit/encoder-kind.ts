/**
 * Facts about an encoder program for the common story (encoder-story.ts): how it is started, what it sends, and how it reacts to refusals. Each
 * program's own file has them; this file is independent of all programs.
 */

import type { Test } from 'tap';
import type { Program } from './program.js';

/** The server to send to, and the login. */
export interface Target {
  readonly port: number;
  /** With its leading slash. */
  readonly mount: string;
  readonly password: string;
  /** A WAV file of a tone, 44.1 kHz, two channels, ten minutes. */
  readonly sound: string;
  /** Replaces the program's own; ffmpeg only. */
  readonly userAgent?: string | undefined;
}

/** How long a refused program is observed, from its first try on. */
export const WATCH_MS = 8000;

/** A program's reaction to a refusal, observed for `WATCH_MS`. */
export interface Reaction {
  /** Minimum and maximum number of tries; a program that retries many times a second is a burden. */
  readonly tries: readonly [number, number];
  /** Its message to the user, on its outputs or in `EncoderKind.words`. */
  readonly says?: RegExp;
  /** Whether it gives up: its process ends, or it rests (`EncoderKind.rests`). */
  readonly ends: boolean;
}

/**
 * Programs can get 401, 404, 409 and 429 by themselves (a wrong password, an unknown mount, a mount in use, too many guesses). For 400 and 501
 * (an invalid length, an unsupported transfer coding) a proxy changes their heads. Our server never answers an encoder with 503; a proxy in front
 * of it may.
 */
export type Refusal = 400 | 401 | 404 | 409 | 429 | 501 | 503;

/** For a program that reacts in the same way to every status. */
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
  /** Required commands; the test is skipped, with the reason, if one is missing. */
  readonly needs: readonly string[];
  readonly codec: 'mp3' | 'aac' | 'vorbis' | 'opus' | 'flac';
  /** Resolves when it was started; it may not be connected yet. */
  start(t: Test, to: Target): Promise<Program>;
  /** Makes it send this title, once it is on air; undefined: it cannot send any. */
  readonly title?: (t: Test, program: Program, artist: string, song: string) => Promise<void>;
  /** Its messages to the user other than its outputs: a window, a log file. */
  readonly words?: (program: Program) => Promise<string>;
  /** Whether it keeps running, but does not retry until its user asks for it; default: never. */
  readonly rests?: (program: Program) => Promise<boolean>;
  /** Ends it as a user would; default: SIGTERM. */
  readonly stop?: (program: Program) => Promise<void>;
  /** Its title as our server reads it; default: unchanged artist and song. */
  readonly titleRead?: { readonly artist: string; readonly song: string };
  /** The line that ICY listeners get; default: artist and song joined by ` - `, or the only one of them. */
  readonly titleLine?: string;
  /** After a reconnection it resumes its Ogg stream without header pages, so that nothing can be played before its next link. */
  readonly resumesHeadless?: true;
  readonly refused: Readonly<Partial<Record<Refusal, Reaction>>>;
  /** After the loss of the server: it reconnects within this many milliseconds, ends, or runs on without reconnecting. */
  readonly onLoss: { readonly backWithinMs: number } | 'ends' | 'stays away';
}
