/** Sets the wall clock of single processes (libfaketime); their monotonic clock is not affected. */

import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { tempFolder } from './temp-folder.js';

/** Path in Debian's package libfaketime; undefined: not installed. */
export const FAKETIME_LIBRARY = process.platform === 'linux' ? library() : undefined;

function library(): string | undefined {
  return readdirSync('/usr/lib')
    .map((name) => `/usr/lib/${name}/faketime/libfaketimeMT.so.1`)
    .find((path) => existsSync(path));
}

/** The environment of a process with a faked clock. */
function withFakedClock(faked: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const wallOnly = { FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' };
  return { LD_PRELOAD: FAKETIME_LIBRARY, ...wallOnly, ...faked };
}

/** A wall clock that can be set while processes use it. */
export interface SettableClock {
  /** The environment of those processes. */
  readonly env: NodeJS.ProcessEnv;
  /** @param seconds offset from the true time */
  set(seconds: number): void;
}

/** @param seconds first offset */
export function settableClock(t: Test, seconds: number): SettableClock {
  const file = join(tempFolder(t), 'offset');
  const set = (offset: number) => writeFileSync(file, `${offset < 0 ? '' : '+'}${offset}\n`);
  set(seconds);
  return { env: withFakedClock({ FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' }), set };
}
