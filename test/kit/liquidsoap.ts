/**
 * Liquidsoap as an encoder: a script with some outputs that send one sine, with titles at given moments. For the versions of Debian 12 and 13;
 * settings have another syntax from 2.2 on.
 */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { ENCODER_HERTZ } from './channel-probe.js';
import { Program } from './program.js';
import { tempFolder } from './temp-folder.js';

export interface LiquidsoapTitle {
  readonly afterSeconds: number;
  readonly artist: string;
  readonly title: string;
}

/** Major and minor version: `2.1` is [2, 1]. */
function versionOf(): number[] {
  const [, major, minor] = /Liquidsoap (\d+)\.(\d+)/.exec(
    execFileSync('liquidsoap', ['--version'], { encoding: 'utf8' }),
  )!;
  return [Number(major), Number(minor)];
}

/** @param outputs arguments of each `output.icecast`, without host, encoder and source @param encoder a format @param sound an operator */
export function startLiquidsoap(
  t: Test,
  outputs: readonly string[],
  titles: readonly LiquidsoapTitle[],
  encoder = `%mp3(bitrate=128, samplerate=${ENCODER_HERTZ})`,
  sound = 'sine(500.)',
): Program {
  const sends = outputs.map((output) => `output.icecast(${encoder}, host="127.0.0.1", ${output}, s)`);
  return runLiquidsoap(t, titles, sends, sound);
}

/** @param lines of a script, with the source `s` @param sound an operator */
export function runLiquidsoap(
  t: Test,
  titles: readonly LiquidsoapTitle[],
  lines: readonly string[],
  sound = 'sine(500.)',
): Program {
  const [major, minor] = versionOf();
  const set = (name: string, value: string | number | boolean) =>
    major! > 2 || minor! >= 2 ? `settings.${name} := ${value}` : `settings.${name}.set(${value})`;
  const script = [
    set('init.allow_root', true),
    set('log.stdout', true),
    set('log.file', false),
    set('frame.audio.samplerate', ENCODER_HERTZ),
    `s = insert_metadata(${sound})`,
    ...titles.map(({ afterSeconds, artist, title }) => {
      const fields = `("artist", ${JSON.stringify(artist)}), ("title", ${JSON.stringify(title)})`;
      return `thread.run(delay=${afterSeconds.toFixed(1)}, fun () -> s.insert_metadata([${fields}]))`;
    }),
    ...lines,
  ];
  const path = join(tempFolder(t), 'test.liq');
  writeFileSync(path, `${script.join('\n')}\n`);
  return new Program(t, 'liquidsoap', [path]);
}
