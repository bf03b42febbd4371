/**
 * An isolated machine for a test: this system's files, with changes kept in memory (overlayfs), its own namespaces, and a real systemd as process 1.
 * It has only its own loopback as a network, so every port is free. Linux, as root; it ends with its test.
 *
 *   this system ◄─reads── overlay ──writes──► tmpfs          /mnt: a folder of the test, for packages and recorded audio
 */

import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { missing } from './program.js';
import { until } from './until.js';

const SYSTEMD = '/lib/systemd/systemd';
const NAMESPACES = ['-m', '-p', '-C', '-u', '-i', '-n', '-f'];
/** Not a promise: systemd and its journal, on a busy machine. */
const BOOTED_MS = 120_000;

/** Runs in new namespaces, and makes kernel settings outside of them read-only. $1: an empty folder; $2: the folder for /mnt. */
const BOOT = `
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
root=$1/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 none "$root/dev"
for device in null zero full random urandom tty; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
mkdir "$root/dev/shm" "$root/dev/pts"
ln -s /proc/self/fd "$root/dev/fd"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=755 none "$root/run"
mkdir -p "$root/mnt" "$root/.before"
mount --bind "$2" "$root/mnt"
mount -t tmpfs -o mode=1777 none "$root/tmp"
rm -f "$root/usr/sbin/policy-rc.d"
cd "$root"
pivot_root . .before
umount -l /.before
exec env -i container=unshare PATH=/usr/sbin:/usr/bin:/sbin:/bin ${SYSTEMD} --log-target=console --show-status=no --unit=basic.target
`;

/** `skip` of a test that needs such a machine: false, or why there is none. */
export function withoutMachine(): string | false {
  const gone = missing('unshare', 'nsenter', 'pivot_root', 'bash');
  if (gone !== false) return gone;
  if (process.getuid?.() !== 0) return 'a machine of its own is for root only';
  if (!existsSync(SYSTEMD)) return 'not installed: systemd';
  if (cgroups() === undefined) return 'there are no unified control groups';
  const tried =
    'd=$(mktemp -d) && mount -t tmpfs none $d && mkdir $d/u $d/w $d/m && mount -t overlay o -o lowerdir=/,upperdir=$d/u,workdir=$d/w $d/m';
  try {
    execFileSync('unshare', [...NAMESPACES, 'sh', '-c', tried], { stdio: 'ignore' });
    return false;
  } catch {
    return 'this system allows no namespaces, or no overlay';
  }
}

/** The mount point of unified control groups. */
function cgroups(): string | undefined {
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .find(([, , type]) => type === 'cgroup2')?.[1];
}

export interface Ran {
  readonly code: number;
  /** Both outputs. */
  readonly out: string;
}

export class DebianMachine {
  readonly #pid: number;

  private constructor(pid: number) {
    this.#pid = pid;
  }

  /** @param folder empty, of the test @param shared becomes /mnt */
  static async boot(t: Test, folder: string, shared: string): Promise<DebianMachine> {
    const root = join(folder, 'machine');
    mkdirSync(root);
    const group = join(cgroups()!, `airsplice-test-${process.pid}`);
    mkdirSync(group);
    // The root of a namespace of control groups is the group of the process that makes it.
    // NODE_OPTIONS names a module of the test runner, which does not exist there.
    const enter = `unset NODE_OPTIONS; echo $$ > ${group}/cgroup.procs; exec unshare ${NAMESPACES.join(' ')} --kill-child bash -c '${BOOT}' boot "$@"`;
    const child = spawn('bash', ['-c', enter, 'enter', root, shared], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const out of [child.stdout, child.stderr]) out.on('data', (chunk) => (said = `${said}${chunk}`.slice(-4000)));
    t.teardown(async () => {
      child.kill('SIGKILL');
      await until(() => removed(group), 30_000);
    });
    const first = () => firstProcess(child.pid!);
    await until(
      () => {
        if (child.exitCode !== null) throw new Error(`the machine does not start: ${said}`);
        const pid = first();
        return pid !== undefined && readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith(SYSTEMD);
      },
      BOOTED_MS,
      () => said,
    );
    const machine = new DebianMachine(first()!);
    await until(
      async () => /running|degraded/.test((await machine.run('systemctl is-system-running')).out),
      BOOTED_MS,
      () => said,
    );
    return machine;
  }

  /** Runs a shell command. */
  run(command: string, ms = 120_000): Promise<Ran> {
    return new Promise((resolve) => {
      const options = { timeout: ms, maxBuffer: 10_000_000, env: ENVIRONMENT };
      execFile('nsenter', this.#enter(command), options, (error, stdout, stderr) => {
        resolve({
          code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1,
          out: `${stdout}${stderr}`.trim(),
        });
      });
    });
  }

  /** As `run`; rejects if the command fails. @returns its output */
  async do(command: string, ms?: number): Promise<string> {
    const { code, out } = await this.run(command, ms);
    if (code !== 0) throw new Error(`${command}: ${code}\n${out}`);
    return out;
  }

  /** Starts a program that keeps running. */
  spawn(t: Test, command: string): ChildProcess {
    const child = spawn('nsenter', this.#enter(`exec ${command}`), { stdio: 'ignore', env: ENVIRONMENT });
    t.teardown(() => child.kill('SIGKILL'));
    return child;
  }

  write(path: string, text: string): void {
    writeFileSync(`/proc/${this.#pid}/root${path}`, text);
  }

  #enter(command: string): string[] {
    return ['-t', String(this.#pid), '-a', 'sh', '-c', `unset NODE_OPTIONS; ${command}`];
  }
}

/** The environment, without variables of the test runner. */
const ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  DEBIAN_FRONTEND: 'noninteractive',
  LANG: 'C.UTF-8',
};

/** The child of `unshare`, whose process this is. */
function firstProcess(pid: number): number | undefined {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return children === '' ? undefined : Number(children.split(' ')[0]);
}

/** Removes a control group and those in it. False: it still has processes. */
function removed(group: string): boolean {
  if (!existsSync(group)) return true;
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) removed(join(group, entry.name));
  try {
    rmdirSync(group);
    return true;
  } catch {
    return false;
  }
}
