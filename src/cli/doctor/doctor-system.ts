/**
 * Checks Node's version and, on Linux, the limit of open files and kernel settings for a crowd of listeners.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/schema.js';
import { type DoctorFinding, Findings } from './finding.js';

/** The oldest version that package.json allows, and the oldest that is still maintained. */
const MIN_NODE = [20, 19] as const;
const MAINTAINED_NODE = 22;

/** @param version as `process.versions.node` */
export function nodeFindings(version: string): DoctorFinding[] {
  const findings = new Findings('node');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1]))
    findings.bad(`Node.js ${version} is too old`, 'install Node.js 24, or at least 20.19');
  else if (major < MAINTAINED_NODE)
    findings.note(
      `Node.js ${version} no longer gets security updates`,
      'install Node.js 24; airsplice runs on it unchanged',
    );
  else findings.good(`Node.js ${version}`);
  return findings.all;
}

/** Files besides connections: the store, logs, sources, calls of the hook (app/addresses/file-limit.ts). */
const OTHER_FILES = 100;

/** @param limits the text of /proc/self/limits, after Node has raised the soft limit to the hard one */
export function fileLimitFindings(
  limits: string,
  { limits: { connections } }: Pick<Config, 'limits'>,
): DoctorFinding[] {
  const findings = new Findings('limits');
  const files = /^Max open files\s+(\d+|unlimited)\s/m.exec(limits)?.[1];
  if (files === undefined) return [];
  const max = files === 'unlimited' ? Number.POSITIVE_INFINITY : Number(files);
  const needed = connections + OTHER_FILES;
  const text = `a process started here may open ${files} files; limits.connections is ${connections}`;
  if (max < needed) {
    findings.bad(
      text,
      `allow ${needed}: LimitNOFILE=${needed} in the unit, ulimit -n ${needed} in a shell, or lower limits.connections; else there will be fewer connections`,
    );
  } else findings.good(text);
  return findings.all;
}

interface SettingNeed {
  readonly name: string;
  /** Parses the number out of the setting. */
  read(text: string): number;
  /** The required minimum; 0: none. */
  min(config: Pick<Config, 'limits' | 'proxies'>): number;
  /** The text to set it to. */
  set(least: number): string;
  readonly why: string;
}

const first = (text: string) => Number(text.trim().split(/\s+/)[0]);
const last = (text: string) => Number(text.trim().split(/\s+/).at(-1));
const same = (least: number) => String(least);

/** For a crowd that connects at once, at the top of the hour. */
const BACKLOG = 4096;
/** Unacknowledged bytes: some seconds at 320 kb/s. */
const SEND_BYTES = 262_144;
const KEPT_TUPLES_PER_CONNECTION = 2;

const NEEDS: readonly SettingNeed[] = [
  {
    name: 'net.core.somaxconn',
    read: first,
    min: () => BACKLOG,
    set: same,
    why: 'this many connections may wait to be accepted: a sudden crowd beyond it is turned away',
  },
  {
    name: 'net.ipv4.tcp_max_syn_backlog',
    read: first,
    min: () => BACKLOG,
    set: same,
    why: 'this many handshakes may be under way',
  },
  {
    name: 'net.ipv4.ip_local_port_range',
    read: (text) => last(text) - first(text) + 1,
    // A proxy on this machine has a port of its own for each listener.
    min: ({ limits, proxies }) => (proxies.trusted.length > 0 ? Math.min(limits.connections, 60_000) : 0),
    set: () => '"1024 65535"',
    why: 'a proxy on this machine needs a port for each connection',
  },
  {
    name: 'net.netfilter.nf_conntrack_max',
    read: first,
    min: ({ limits }) => limits.connections * KEPT_TUPLES_PER_CONNECTION,
    set: same,
    why: 'the firewall keeps an entry for each connection, even for a while after it ends; when the table is full, new ones are dropped',
  },
  {
    name: 'net.ipv4.tcp_wmem',
    read: last,
    min: () => SEND_BYTES,
    set: () => '"4096 65536 4194304"',
    why: 'this many bytes may be in flight to a listener: with less, streams stall on long-distance connections',
  },
];

/** @param root of the settings: /proc/sys */
export async function settingFindings(
  config: Pick<Config, 'limits' | 'proxies'>,
  root = '/proc/sys',
): Promise<DoctorFinding[]> {
  const findings = new Findings('kernel');
  for (const { name, read, min: least, set, why } of NEEDS) {
    const text = await readFile(join(root, ...name.split('.')), 'latin1').catch(() => null);
    const needed = least(config);
    // A container or another system may not have the setting.
    if (text === null || needed === 0) continue;
    const value = text.trim().replace(/\s+/g, ' ');
    if (read(text) >= needed) findings.good(`${name} = ${value}`);
    else
      findings.note(`${name} = ${value}: ${why}`, `\`sysctl -w ${name}=${set(needed)}\`, and a line in /etc/sysctl.d/`);
  }
  return findings.all;
}
