/** The wall clock of a process, set apart from this machine's (libfaketime); its monotonic clock stays what it is. */

import { existsSync, readdirSync } from 'node:fs';

/** Of Debian's package libfaketime; undefined: it is not here. */
export const FAKETIME_LIBRARY = process.platform === 'linux' ? library() : undefined;

function library(): string | undefined {
  return readdirSync('/usr/lib')
    .map((name) => `/usr/lib/${name}/faketime/libfaketimeMT.so.1`)
    .find((path) => existsSync(path));
}

/** The environment of a process whose clock goes by `faked`. */
export function withFakedClock(faked: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const wallOnly = { FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' };
  return { LD_PRELOAD: FAKETIME_LIBRARY, ...wallOnly, ...faked };
}
