/** The server with a hub and workers, as an operator starts it: its processes, and the owners of connections. Linux only. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { framesIn } from './feeder.js';
import { Player } from './player.js';
import { freePorts, ServerProcess } from './process.js';
import { heldAt } from './process-sockets.js';
import { demoYaml } from './server.js';
import { tempFolder } from './temp-folder.js';
import { until } from './until.js';

/** Number of workers of each machine. */
export const WORKERS = 2;
/** Not a promise: time for four processes of Node.js to start while ten test files run (up to 20 s were seen). */
export const RESTARTED_MS = 60_000;

interface Child {
  readonly pid: number;
  /** `hub` or `worker`. */
  readonly role: string;
}

export class Machine {
  readonly server: ServerProcess;
  readonly folder: string;

  private constructor(server: ServerProcess, folder: string) {
    this.server = server;
    this.folder = folder;
  }

  /** @param yaml makes the configuration @param launcher as in ServerProcess */
  static async start(
    t: Test,
    yaml: (port: number) => string = (port) => demoYaml('', port),
    launcher: readonly string[] = [],
  ): Promise<Machine> {
    const folder = tempFolder(t);
    const first = await freePorts(2);
    const path = join(folder, 'config.yaml');
    writeFileSync(path, `workers: ${WORKERS}\ndata: { folder: ${join(folder, 'data')} }\n${yaml(first)}`);
    const server = new ServerProcess(t, first, [path], { TMPDIR: folder }, launcher);
    await server.ready();
    const machine = new Machine(server, folder);
    await until(
      () => server.out.includes('plays') && machine.children.length === 1 + WORKERS,
      RESTARTED_MS,
      () => server.err.slice(-1000),
    );
    // The test kills the supervisor at its end; the children then end by themselves.
    return machine;
  }

  get port(): number {
    return this.server.port;
  }

  get config(): string {
    return join(this.folder, 'config.yaml');
  }

  /** Its processes other than the supervisor, by process titles. */
  get children(): Child[] {
    const out = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(this.server.child.pid)], { encoding: 'utf8' });
    return out
      .split('\n')
      .map((line) => /^\s*(\d+)\s+airsplice (hub|worker)/.exec(line))
      .flatMap((found) => (found === null ? [] : [{ pid: Number(found[1]), role: found[2]! }]));
  }

  pidsOf(role: string): number[] {
    return this.children.flatMap((child) => (child.role === role ? [child.pid] : []));
  }

  /** Number of occurrences in its log. */
  logged(text: string): number {
    return this.server.err.split(text).length - 1;
  }

  /** The end of its log, without lines about titles. */
  get news(): string {
    const lines = this.server.err.split('\n').filter((line) => !/"msg":"(title|the event loop)/.test(line));
    return lines.join('\n').slice(-3000);
  }

  /** The process with the server's end of a connection. */
  ownerOf(player: Player): number {
    return this.ownersOf([player])[0]!;
  }

  /** The owner of each connection. */
  ownersOf(players: readonly Player[]): number[] {
    const owners = this.#owners();
    return players.map(({ socket }) => {
      const owner = owners.get(socket.localPort!);
      if (owner === undefined) throw new Error('no process has the connection');
      return owner;
    });
  }

  /** Undefined: not found, for example because the system's list changed while it was read. */
  ownerNow({ socket }: Pick<Player, 'socket'>): number | undefined {
    return this.#owners().get(socket.localPort!);
  }

  /** Client's port of a connection → process of the server that owns it. */
  #owners(): Map<number, number> {
    const owners = new Map<number, number>();
    for (const { pid } of this.children) for (const port of heldAt(this.port, pid)) owners.set(port, pid);
    return owners;
  }

  async push(song: string, channel = 'demo'): Promise<number> {
    // A persistent connection would stay with one worker.
    const headers = { connection: 'close' };
    const response = await fetch(`${this.server.base}/metapush/${channel}/${channel}-token?song=${song}`, { headers });
    await response.text();
    return response.status;
  }
}

/** Number of bytes outside of frames, between the tag in place of the first frame (audio/tape/entry.ts) and the last frame, which may be cut. */
export function strayBytes(audio: Buffer): number {
  const tag = audio.toString('latin1', 0, 3) === 'ID3' ? 10 + audio[8]! * 128 + audio[9]! : 0;
  return framesIn(audio.subarray(tag)).skippedBytes;
}

/** Connects listeners until each worker has one; returns the first of each. */
export async function onePerWorker(t: Test, machine: Machine, path = '/demo.mp3'): Promise<Map<number, Player>> {
  const players = new Map<number, Player>();
  await until(async () => {
    const player = new Player(machine.port, path, { keep: true });
    t.teardown(() => player.close());
    await player.until(({ audioBytes }) => audioBytes > 0);
    const pid = machine.ownerNow(player);
    // A worker may not have the channel's first audio yet.
    if (player.status !== 200 || pid === undefined || players.has(pid)) player.close();
    else players.set(pid, player);
    return players.size === WORKERS;
  }, 20_000);
  return players;
}
