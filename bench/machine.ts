/** The machine, the commit and the versions of a measurement. Owned by bench/run.ts. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { path } from './target.js';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  /** Load of the last minute before the first measurement. */
  readonly load: number;
  /** Short hash of the last commit that changed the measured files; `+`: with uncommitted changes. */
  readonly commit: string;
  /** Program → version, for installed programs. */
  readonly versions: Readonly<Record<string, string>>;
}

/** The measured files, from the root of the repository. */
const MEASURED = ['src', 'package-lock.json'];

export function machine(nodes: readonly string[]): Machine {
  const git = (...args: string[]) => said('git', ['-C', path('..'), ...args]);
  const { version } = JSON.parse(readFileSync(path('../package.json'), 'utf8')) as { version: string };
  const versions: Record<string, string | undefined> = {
    airsplice: version,
    node: nodes.map((node) => said(node, ['--version'])).join(', '),
    icecast: /\d[\d.]+/.exec(said('icecast2', ['-v']))?.[0],
    nginx: /\d[\d.]+/.exec(said('nginx', ['-v']))?.[0],
    cc: said('cc', ['--version']).split('\n')[0] || undefined,
  };
  return {
    cpu: cpus()[0]?.model.trim() ?? '',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    load: loadavg()[0]!,
    commit:
      git('log', '-1', '--format=%h', '--', ...MEASURED) +
      (git('status', '--porcelain', '--', ...MEASURED) === '' ? '' : '+'),
    versions: Object.fromEntries(Object.entries(versions).filter((each): each is [string, string] => !!each[1])),
  };
}

/** One line about it. */
export function machineLine({ cpu, cores, memoryGiB, kernel, commit, versions }: Machine): string {
  const programs = Object.entries(versions).map(([name, version]) => (name === 'cc' ? version : `${name} ${version}`));
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB, Linux ${kernel}; commit ${commit || 'unknown'}; ${programs.join(', ')}`;
}

function said(command: string, args: readonly string[]): string {
  const { stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  return error ? '' : `${stdout}${command === 'git' ? '' : stderr}`.trim();
}
