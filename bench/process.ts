/**
 * Server processes of a benchmark: starts, measures (CPU and memory from /proc, so Linux only) and stops them. It stops only its own processes, by
 * pid, the remaining ones when this process exits. Owned by bench/run.ts.
 */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** The unit of utime and stime in /proc/PID/stat (USER_HZ, 100 on every Linux that Node runs on). */
const TICKS_PER_SECOND = 100;
const STOP_MS = 5_000;
const ANSWER_MS = 2_000;

const running = new Set<Started>();
process.once('exit', () => {
  for (const each of running) each.kill();
});

/** Resources of a process and its present descendants. */
export interface Usage {
  readonly cpuSeconds: number;
  /** The kernel's part of it. */
  readonly systemSeconds: number;
  /** Resident memory. */
  readonly bytes: number;
}

/** A started program. It must be stopped; see stopAll. */
export class Started {
  /** Resolves when it has ended for any reason. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  #ending: string | undefined;
  #lastOutput = '';

  constructor(command: string, args: readonly string[], env: Record<string, string> = {}) {
    this.#child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(this);
    for (const stream of [this.stdout, this.stderr])
      stream.on('data', (text: Buffer) => {
        this.#lastOutput = (this.#lastOutput + text).slice(-2000);
      });
    this.ended = new Promise((resolve) => {
      const end = (ending: string) => {
        this.#ending = ending;
        running.delete(this);
        resolve();
      };
      this.#child.once('error', (error) => end(error.message));
      this.#child.once('close', (code, signal) => end(`ended with ${signal ?? code}`));
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get stdout(): Readable {
    return this.#child.stdout;
  }

  get stderr(): Readable {
    return this.#child.stderr;
  }

  /** Waits until `url` answers 200. Rejects with the program's last output if it ends before that, or after `seconds`. */
  async ready(url: string, seconds = 20): Promise<void> {
    const deadline = performance.now() + seconds * 1000;
    while (this.#ending === undefined && performance.now() < deadline) {
      const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => undefined);
      await answer?.body?.cancel();
      if (answer?.status === 200) return;
      await sleep(100);
    }
    throw this.failure(`${url} is not ready`);
  }

  /** An error with the program's name, how it ended (or `otherwise`), and its last output. */
  failure(otherwise: string): Error {
    return new Error(`${this.#child.spawnargs.join(' ')}: ${this.#ending ?? otherwise}\n${this.#lastOutput}`);
  }

  /** Stops it politely, and kills it after 5 seconds. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const patience = setTimeout(() => this.kill(), STOP_MS);
    await this.ended;
    clearTimeout(patience);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Stops all running programs, the youngest first. */
export async function stopAll(): Promise<void> {
  for (const each of [...running].reverse()) await each.stop();
}

/** Resources of processes and their present descendants, each once; ended ones count as 0. NaN without a process. */
export function usage(...pids: readonly number[]): Usage {
  if (pids.length === 0) return { cpuSeconds: Number.NaN, systemSeconds: Number.NaN, bytes: Number.NaN };
  let [cpuSeconds, systemSeconds, bytes] = [0, 0, 0];
  for (const each of new Set(pids.flatMap(family))) {
    // Field 2, the name, may contain blanks, so count from the last parenthesis. utime and stime are fields 14 and 15.
    const fields = (read(`/proc/${each}/stat`).split(') ').at(-1) ?? '').split(' ');
    const [user, system] = [Number(fields[11] ?? 0), Number(fields[12] ?? 0)];
    cpuSeconds += (user + system) / TICKS_PER_SECOND;
    systemSeconds += system / TICKS_PER_SECOND;
    bytes += Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${each}/status`))?.[1] ?? 0) * 1024;
  }
  return { cpuSeconds, systemSeconds, bytes };
}

/** Processes that listen on a local TCP port, if visible to this user. */
export function listeningAt(port: number): number[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const inodes = ['tcp', 'tcp6'].flatMap((kind) =>
    [...read(`/proc/net/${kind}`).matchAll(new RegExp(`:${hex} \\S+ 0A (?:\\S+ +){5}(\\d+)`, 'g'))].map(
      ([, inode]) => inode,
    ),
  );
  const wanted = new Set(inodes.map((inode) => `socket:[${inode}]`));
  return entries('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => entries(`/proc/${pid}/fd`).some((file) => wanted.has(link(`/proc/${pid}/fd/${file}`))))
    .map(Number);
}

function family(pid: number): number[] {
  const children = entries(`/proc/${pid}/task`).flatMap((task) =>
    read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean),
  );
  return [pid, ...children.flatMap((child) => family(Number(child)))];
}

function entries(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** A TCP port of 127.0.0.1 that is free now, as is the next one, which is for SHOUTcast encoders. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await listenOnce(0);
    if (port !== null && port < 65_535 && (await listenOnce(port + 1)) !== null) return port;
  }
}

/** The port; null: it is taken. */
function listenOnce(port: number): Promise<number | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => {
      const given = (server.address() as AddressInfo).port;
      server.close(() => resolve(given));
    });
  });
}
