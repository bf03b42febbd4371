/**
 * The two programs in C, compiled where `cc` is at hand: a floor, and a generator of joins that is not busier than what it measures. Without a
 * compiler the benchmark says what it left out.
 */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { path } from './target.js';

export const hasCompiler = spawnSync('cc', ['--version']).error === undefined;

/** The path of the program, in `folder`. Throws with what the compiler said. */
export function compile(name: 'floor' | 'joins', folder: string): string {
  const program = join(folder, name);
  const { status, stderr } = spawnSync('cc', ['-O2', '-Wall', '-o', program, path(`c/${name}.c`)], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`c/${name}.c: ${stderr}`);
  return program;
}
