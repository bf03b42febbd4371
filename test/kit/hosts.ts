/**
 * Separate hosts on this machine: network namespaces with veth, on one bridge, in the range for network tests (RFC 2544). A test makes them, and they
 * end with it. Needs root and iproute2; nftables for the loss of packets.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import type { Test } from 'tap';

/** By process, so that several tests may run at once. */
const RANGE = `198.18.${1 + (process.pid % 250)}`;
const BRIDGE_HOST = 254;
/** Number of hosts made by this process. Names are unique, since the kernel takes a while to remove one. */
let made = 0;

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Why a test with hosts is skipped; false: they can be made. */
export function noHosts(): string | false {
  const name = `as${process.pid % 100_000}p`;
  const steps = [
    ['link', 'add', `${name}b`, 'type', 'bridge'],
    ['netns', 'add', name],
    ['link', 'add', `${name}v`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name],
    ['link', 'set', `${name}v`, 'master', `${name}b`, 'up'],
    ['netns', 'exec', name, 'true'],
  ];
  const failed = steps.find((args) => spawnSync('ip', args).status !== 0);
  spawnSync('ip', ['netns', 'del', name]);
  spawnSync('ip', ['link', 'del', `${name}b`]);
  return failed === undefined ? false : `no hosts can be made here: ip ${failed.join(' ')}`;
}

/** Why single packets cannot be lost between hosts; false: they can. Only for systems that can make hosts. */
export function noLoss(): string | false {
  const name = `as${process.pid % 100_000}q`;
  spawnSync('ip', ['netns', 'add', name]);
  const { status } = spawnSync('ip', ['netns', 'exec', name, 'nft', 'add', 'table', 'inet', 'loss']);
  spawnSync('ip', ['netns', 'del', name]);
  return status === 0 ? false : 'no packets are lost here: nft add table';
}

/** One host. */
export class Host {
  readonly address: string;
  readonly namespace: string;

  constructor(namespace: string, number: number) {
    this.namespace = namespace;
    this.address = `${RANGE}.${number}`;
  }

  /** A command prefix that runs a command there. */
  get launcher(): readonly string[] {
    return ['ip', 'netns', 'exec', this.namespace];
  }

  /** Drops all packets from this host to another; the other direction still works. */
  cut(to: Host): void {
    ip('-n', this.namespace, 'route', 'replace', 'blackhole', `${to.address}/32`);
  }

  mend(to: Host): void {
    ip('-n', this.namespace, 'route', 'del', 'blackhole', `${to.address}/32`);
  }

  /** Drops random packets from another host until `keepAll`. Needs nftables. */
  lose(from: Host, percent: number): void {
    const rule = `ip saddr ${from.address} numgen random mod 100 < ${percent} drop`;
    const hook = '{ type filter hook input priority 0; }';
    this.#nft(`add table inet loss\nadd chain inet loss in ${hook}\nadd rule inet loss in ${rule}\n`);
  }

  keepAll(): void {
    this.#nft('add table inet loss\ndelete table inet loss\n');
  }

  #nft(lines: string): void {
    const [command, ...args] = [...this.launcher, 'nft', '-f', '-'];
    execFileSync(command!, args, { input: lines, stdio: ['pipe', 'ignore', 'pipe'] });
  }
}

/** The hosts of one test, and this process's route to them. */
export class Hosts {
  readonly #bridge: string;
  readonly #t: Test;
  #last = 0;

  constructor(t: Test) {
    this.#t = t;
    // Names of interfaces have at most 15 characters.
    this.#bridge = `as${process.pid % 100_000}br`;
    ip('link', 'add', this.#bridge, 'type', 'bridge');
    t.teardown(() => void spawnSync('ip', ['link', 'del', this.#bridge]));
    ip('addr', 'add', `${RANGE}.${BRIDGE_HOST}/24`, 'dev', this.#bridge);
    ip('link', 'set', this.#bridge, 'up');
  }

  add(): Host {
    const number = ++this.#last;
    const name = `as${process.pid % 100_000}n${++made}`;
    const host = new Host(name, number);
    ip('netns', 'add', name);
    this.#t.teardown(() => void spawnSync('ip', ['netns', 'del', name]));
    ip('link', 'add', `${name}v`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    this.#t.teardown(() => void spawnSync('ip', ['link', 'del', `${name}v`]));
    ip('link', 'set', `${name}v`, 'master', this.#bridge, 'up');
    ip('-n', name, 'addr', 'add', `${host.address}/24`, 'dev', 'eth0');
    ip('-n', name, 'link', 'set', 'eth0', 'up');
    ip('-n', name, 'link', 'set', 'lo', 'up');
    return host;
  }
}
