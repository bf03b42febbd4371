/** Makes a file of a tone with an artist and a title in its tags, as in a music library. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Test } from 'tap';
import { tempFolder } from './temp-folder.js';

export interface Tags {
  readonly artist: string;
  readonly title: string;
}

export interface Tone {
  /** The sample rate. */
  readonly hertz: number;
  /** The tone's frequency, Hertz; default 500. */
  readonly pitch?: number;
  readonly seconds: number;
  /** The extension: `mp3`, `flac`, `ogg` (Vorbis), `opus`. */
  readonly type: string;
}

/** @param path default: in a temporary folder @returns the path */
export function makeTagged(
  t: Test,
  { artist, title }: Tags,
  { hertz, pitch = 500, seconds, type }: Tone,
  path = join(tempFolder(t), `tagged.${type}`),
): string {
  const sine = `sine=frequency=${pitch}:sample_rate=${hertz}:duration=${seconds}`;
  const tags = ['-metadata', `artist=${artist}`, '-metadata', `title=${title}`];
  execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', sine, '-ac', '2', '-b:a', '128k', ...tags, path]);
  return path;
}
