/** Nodes of a cluster as separate processes, on one Redis, with the same channels: encoders, files and listeners that check each byte. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { forward } from './forward.js';
import type { Host } from './hosts.js';
import { freePorts, ServerProcess } from './process.js';
import { RedisServer } from './redis.js';
import type { RedisPair } from './redis-pair.js';
import { StampedListener } from './reload-clients.js';
import { writeStamped } from './stamped.js';
import { tempFolder } from './temp-folder.js';
import { until } from './until.js';

export const SECRET = 'a secret that all nodes of this test know';
export const FILE_FRAMES = 2400;
/** Source number of the stamped file of a node. */
export const FILE_SOURCE = 900;

export interface NodeSetting {
  /** Sources of the channel `live`, in order; a number: a file of this stamped source. */
  readonly sources?: readonly ('encoder' | number)[];
  /** Options of its encoder. */
  readonly encoder?: string;
  readonly mayFeed?: boolean;
  readonly workers?: number;
  readonly level?: string;
  /** The host that it runs on; absent: this one. */
  readonly host?: Host;
  /** Added to its environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** `maxListeners` of the channel `live`. */
  readonly maxListeners?: number;
  readonly delaySeconds?: number;
  /** Whether other nodes reach its tapes through `proxyPort`. */
  readonly isBehindProxy?: boolean;
  /** Added to its configuration. */
  readonly more?: string;
  /** Added to the list of its addresses. */
  readonly addresses?: string;
}

/** Number of workers of each node: TEST_WORKERS, or else the default. */
const WORKERS = Number(process.env['TEST_WORKERS'] ?? 0);

/** The place of the shared log: a Redis, the one that a Sentinel names, another node or one of several, or the node itself. */
export type CommonPlace = RedisServer | RedisPair | ClusterNode | readonly ClusterNode[] | null;

export class ClusterNode {
  readonly name: string;
  readonly port: number;
  readonly tapesPort: number;
  /** A free port for a proxy in front of that. */
  readonly proxyPort: number;
  readonly folder: string;
  readonly host: Host | null;
  readonly #t: Test;
  readonly #tapesUrl: string;
  readonly #yaml: string;
  readonly #env: NodeJS.ProcessEnv;
  #process: ServerProcess | null = null;

  private constructor(t: Test, name: string, port: number, common: CommonPlace, setting: NodeSetting) {
    const {
      sources = ['encoder'],
      encoder = '',
      mayFeed = true,
      workers = WORKERS,
      level = process.env['TEST_LOG'] ?? 'info',
      more = '',
      host,
    } = setting;
    const address = host?.address ?? '127.0.0.1';
    this.host = host ?? null;
    this.#env = setting.env ?? {};
    this.#t = t;
    this.name = name;
    this.port = port;
    this.tapesPort = port + 2;
    this.proxyPort = port + 3;
    this.#tapesUrl = `http://${address}:${setting.isBehindProxy ? this.proxyPort : this.tapesPort}`;
    this.folder = tempFolder(t);
    const listed = sources.map((source) => {
      if (source === 'encoder') return `{ type: encoder, password: demo-source, ${encoder} }`;
      const path = join(this.folder, `${source}.mp3`);
      writeStamped(path, 'mp3', source, FILE_FRAMES);
      return `{ type: file, path: ${path} }`;
    });
    this.#yaml = `
addresses: [{ host: ${address}, port: ${port} }${setting.addresses ?? ''}]
demoSecretsInPublic: 'yes, anybody may push and stream to this server'
workers: ${workers}
log: { level: ${level} }
data: { folder: data }
cluster:
${ClusterNode.#wayTo(common)}
  node: ${name}
  sources: ${mayFeed}
  answerSeconds: 0.5
  tapes: { host: ${address}, port: ${this.tapesPort}, advertise: '${this.#tapesUrl}', secret: 'env:CLUSTER_SECRET' }
stations:
  house:
    channels:
      live: { ${setting.maxListeners === undefined ? '' : `maxListeners: ${setting.maxListeners}, `}delaySeconds: ${setting.delaySeconds ?? 0}, bitrateKbps: 128, pushTokens: [demo-token], sources: [${listed.join(', ')}] }
${more}`;
  }

  static #wayTo(common: CommonPlace): string {
    if (common === null) return '';
    if (common instanceof ClusterNode) return ClusterNode.#wayTo([common]);
    if (common instanceof RedisServer) return `  url: ${common.url}`;
    if (!('sentinel' in common)) return `  origins: ${JSON.stringify(common.map((node) => node.#tapesUrl))}`;
    // The URL has what a Sentinel does not name; its host is ignored.
    return `  url: redis://nowhere.invalid:1/0\n  sentinels: ['${common.sentinel}']\n  master: ${common.name}`;
  }

  /** Resolves once it serves. */
  static async start(t: Test, name: string, common: CommonPlace, setting: NodeSetting = {}): Promise<ClusterNode> {
    const node = new ClusterNode(t, name, await freePorts(4), common, setting);
    const { host, port } = node;
    if (host !== null) await forward(t, port, () => ({ host: host.address, port }));
    await node.start();
    return node;
  }

  async start(): Promise<void> {
    const path = join(this.folder, 'config.yaml');
    writeFileSync(path, this.#yaml);
    const env = { CLUSTER_SECRET: SECRET, TMPDIR: this.folder, ...this.#env };
    this.#process = new ServerProcess(this.#t, this.port, [path], env, this.host?.launcher ?? []);
    await this.#process.ready();
  }

  get ws(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  /** Its log. */
  get said(): string {
    return `${this.#process?.out ?? ''}${this.#process?.err ?? ''}`;
  }

  /** Process ids of its hub, or of its workers. */
  pidsOf(role: 'hub' | 'worker'): number[] {
    const out = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', `${this.#process!.child.pid}`], { encoding: 'utf8' });
    return [...out.matchAll(/^\s*(\d+)\s+airsplice (hub|worker)/gm)].flatMap(([, pid, found]) =>
      found === role ? [Number(pid)] : [],
    );
  }

  /** Suspends or resumes all its processes, as if the machine hung. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    const all = [this.#process!.child.pid!, ...this.pidsOf('hub'), ...this.pidsOf('worker')];
    for (const pid of all) process.kill(pid, signal);
  }

  /** Kills all its processes at once (kill -9), as if the machine were gone. */
  async kill(): Promise<void> {
    const pid = this.#process!.child.pid!;
    const children = childrenOf(pid);
    for (const each of [pid, ...children]) process.kill(each, 'SIGKILL');
    await until(
      () => this.#process!.ended !== undefined,
      5000,
      () => `${this.name} lives`,
    );
  }

  /** Stops it politely. */
  async end(): Promise<void> {
    await this.#process!.end('SIGTERM');
  }

  listen(icy = true, lengths = new Map([[FILE_SOURCE, FILE_FRAMES]])): StampedListener {
    const listener = new StampedListener(this.port, 'live', '/live', 'mp3', lengths, icy);
    this.#t.teardown(() => listener.player.close());
    return listener;
  }
}

function childrenOf(pid: number): number[] {
  const out = execFileSync('pgrep', ['-P', `${pid}`], { encoding: 'utf8' });
  return out.split('\n').filter(Boolean).map(Number);
}

/** Resolves when each listener hears this source. */
export async function allHear(listeners: readonly StampedListener[], source: number, ms = 10_000): Promise<void> {
  const hears = ({ reader }: StampedListener) => reader.runs.at(-1)?.source === source;
  await until(
    () => listeners.every(hears),
    ms,
    () =>
      `${source} is not heard: ${listeners.map(({ player, reader }) => `${player.status} ${JSON.stringify(reader.runs.at(-1))} ${reader.fault} ${player.closed ? 'closed' : ''}`)}`,
  );
}

/** Fails if a listener's connection ended, or if it received anything but frames. */
export function allAreWell(t: Test, listeners: readonly StampedListener[], what: string): void {
  for (const [i, { player, reader }] of listeners.entries()) {
    if (player.closed) t.fail(`${what}: listener ${i} was ended`);
    if (reader.fault !== '') t.fail(`${what}: listener ${i}: ${reader.fault}`);
  }
  t.pass(what);
}
