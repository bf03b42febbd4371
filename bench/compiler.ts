/**
 * The two programs in C, compiled where `cc` is at hand: a floor, and a generator of joins that is not busier than what it measures. Without a
 * compiler the benchmark says what it left out.
 */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { path } from './target.js';

export const hasCompiler = spawnSync('cc', ['--version']).error === undefined;

/** Where Debian, Fedora and Alpine have it. */
export const hasOpenssl = hasCompiler && existsSync('/usr/include/openssl/ssl.h');

/** The path of the program, in `folder`. @param withTls it speaks TLS, too. Throws with what the compiler said. */
export function compile(name: 'floor' | 'joins', folder: string, withTls = false): string {
  const program = join(folder, name);
  const [define, libraries] = withTls ? [['-DTLS'], ['-lssl', '-lcrypto']] : [[], []];
  const args = ['-O2', '-Wall', ...define, '-o', program, path(`c/${name}.c`), ...libraries];
  const { status, stderr } = spawnSync('cc', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`c/${name}.c: ${stderr}`);
  return program;
}
