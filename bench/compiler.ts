/**
 * Compiles the two C programs if `cc` is installed: a floor, and a generator of joins that needs less CPU than the measured server. Without a
 * compiler the benchmark reports what it left out.
 */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { path } from './target.js';

export const hasCompiler = spawnSync('cc', ['--version']).error === undefined;

/** The path on Debian, Fedora and Alpine. */
export const hasOpenssl = hasCompiler && existsSync('/usr/include/openssl/ssl.h');

/** Compiles a program into `folder`; returns its path. Throws with the compiler's output. @param withTls with support for TLS */
export function compile(name: 'floor' | 'joins', folder: string, withTls = false): string {
  const program = join(folder, name);
  const [define, libraries] = withTls ? [['-DTLS'], ['-lssl', '-lcrypto']] : [[], []];
  const args = ['-O2', '-Wall', ...define, '-o', program, path(`c/${name}.c`), ...libraries];
  const { status, stderr } = spawnSync('cc', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`c/${name}.c: ${stderr}`);
  return program;
}
