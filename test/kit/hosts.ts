/**
 * Hosts of their own on this machine: network namespaces with veth, on one bridge, in a range that is for tests of networks (RFC 2544). They are made
 * by the test that needs them, and go with it. Needs root, and iproute2; nftables, where packets are to be lost.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import type { Test } from 'tap';

/** One for each process: two tests may have theirs at once. */
const RANGE = `198.18.${1 + (process.pid % 250)}`;
const BRIDGE_HOST = 254;
/** Hosts of this process: the kernel takes its time to end one, so no name comes twice. */
let made = 0;

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Why a test that needs them is skipped; false: they can be made. */
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

/** Why packets are not lost one by one there; false: they can be. Where hosts can be made. */
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

  /** The command that runs another one there. */
  get launcher(): readonly string[] {
    return ['ip', 'netns', 'exec', this.namespace];
  }

  /** Nothing goes from here to that one any more; what comes from there still does. */
  cut(to: Host): void {
    ip('-n', this.namespace, 'route', 'replace', 'blackhole', `${to.address}/32`);
  }

  mend(to: Host): void {
    ip('-n', this.namespace, 'route', 'del', 'blackhole', `${to.address}/32`);
  }

  /** Of the packets that come from that one some are lost, at random, until `keepAll`. Needs nftables. */
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

/** The hosts of one test, and this process's own way to them. */
export class Hosts {
  readonly #bridge: string;
  readonly #t: Test;
  #last = 0;

  constructor(t: Test) {
    this.#t = t;
    // A name has 15 characters at most.
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
