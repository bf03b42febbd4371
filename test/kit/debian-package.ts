/** Builds the Debian package for tests: this version, and the same files as a later version. */

import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withoutMachine } from './debian-machine.js';
import { missing } from './program.js';

const BUILD = new URL('../../config/deploy/debian/build.sh', import.meta.url).pathname;
const run = promisify(execFile);

/** `skip` of a test that installs it on a DebianMachine: false, or what is missing. */
export function withoutPackage(): string | false {
  const gone = missing('dpkg-deb', 'npm', 'ffmpeg', 'curl') || withoutMachine();
  if (gone !== false) return gone;
  try {
    const version = execFileSync('dpkg-query', ['-W', '-f', '$'.concat('{Version}'), 'nodejs'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    execFileSync('dpkg', ['--compare-versions', version, 'ge', '20.19']);
    return false;
  } catch {
    return 'not installed: a package nodejs of 20.19 or later';
  }
}

/** The environment in which a person runs npm. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$)/i.test(name)));
}

/** Puts first.deb (0.1.0) and next.deb (0.1.1) into a folder. */
export async function buildPackages(folder: string): Promise<void> {
  const env = { ...plainEnvironment(), DEB_VERSION: '0.1.0-1' };
  const built = (await run(BUILD, [folder], { env, timeout: 300_000 })).stdout.trim();
  const tree = join(folder, 'tree');
  await run('dpkg-deb', ['-R', built, tree]);
  const control = join(tree, 'DEBIAN/control');
  writeFileSync(control, readFileSync(control, 'utf8').replace('0.1.0-1', '0.1.1-1'));
  const about = join(tree, 'usr/lib/airsplice/package.json');
  writeFileSync(about, readFileSync(about, 'utf8').replace(/"version": *"[^"]*"/, '"version": "0.1.1"'));
  await run('dpkg-deb', ['--root-owner-group', '-b', tree, join(folder, 'next.deb')]);
  await run('mv', [built, join(folder, 'first.deb')]);
}
