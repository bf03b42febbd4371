/** The wall clock of a process, set apart from this machine's (libfaketime); its monotonic clock stays what it is. */

import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { tempFolder } from './temp-folder.js';

/** Of Debian's package libfaketime; undefined: it is not here. */
export const FAKETIME_LIBRARY = process.platform === 'linux' ? library() : undefined;

function library(): string | undefined {
  return readdirSync('/usr/lib')
    .map((name) => `/usr/lib/${name}/faketime/libfaketimeMT.so.1`)
    .find((path) => existsSync(path));
}

/** The environment of a process whose clock goes by `faked`. */
function withFakedClock(faked: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const wallOnly = { FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' };
  return { LD_PRELOAD: FAKETIME_LIBRARY, ...wallOnly, ...faked };
}

/** A wall clock that is set while processes run by it. */
export interface SettableClock {
  /** The environment of those processes. */
  readonly env: NodeJS.ProcessEnv;
  /** @param seconds beside the true time */
  set(seconds: number): void;
}

/** @param seconds as the processes begin */
export function settableClock(t: Test, seconds: number): SettableClock {
  const file = join(tempFolder(t), 'offset');
  const set = (offset: number) => writeFileSync(file, `${offset < 0 ? '' : '+'}${offset}\n`);
  set(seconds);
  return { env: withFakedClock({ FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' }), set };
}
