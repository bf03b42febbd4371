/**
 * Players of other people as tests run them: how each is started, and what it prints when it shows a title, of its position, and when it
 * does not like what it gets. All that it reports comes as text: on its outputs, over a socket, or from a program that the same shell
 * asks about it. It ends with its test at the latest.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import net from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { asNobody, giveToNobody } from './nobody.js';
import { tempFolder } from './temp-folder.js';

export interface Shown {
  readonly artist: string;
  readonly song: string;
}

export interface PlayerKind {
  /** Default: the program that is started. */
  readonly name?: string;
  readonly program: string;
  /** Its arguments. @param folder the player's own, and its HOME; what it shows may also be read there */
  args(url: string, folder: string): string[];
  /** Writes its configuration. */
  prepare?(folder: string): void;
  readonly env?: Readonly<Record<string, string>>;
  /** What it prints when it shows this title, of a stream of this codec. */
  shows(title: Shown, codec: string): string;
  /** What it prints when it does not like what it gets. */
  readonly complaint: RegExp;
  /** Of these, what is not about the stream, or what it says of itself when it got no CPU. */
  readonly excused?: RegExp;
  /** What it prints of its position, over and over, in groups: hours, minutes and seconds, or the last of these only. */
  readonly position?: RegExp;
  /** What it prints over and over while it plays nothing; one without ends when its stream ends. */
  readonly stopped?: RegExp;
  /** A line for the shell that it runs in: plays its URL anew, unless it plays. */
  readonly again?: string;
  /**
   * What it cannot do, by codec. `first title`: it shows the title in force when it joined, and no other. `one link`: it plays one Ogg stream and no
   * chain, and is silent from the first change of titles or sources on (libFLAC before 1.5).
   */
  readonly limits?: Readonly<Record<string, 'first title' | 'one link'>>;
  /** It does not run as root. */
  readonly asNobody?: true;
  /** In its folder: a socket over which it reports what it does not print (mpv). */
  readonly socket?: string;
}

/** What a listener without fields of its own reads. */
export function titleLine({ artist, song }: Shown): string {
  return artist === '' ? song : `${artist} - ${song}`;
}

/** A player that runs. */
export class PlayerProgram {
  readonly kind: PlayerKind;
  readonly child: ChildProcess;
  /** Exit code or signal, once it has ended. */
  ended: string | undefined;
  #parts: Buffer[] = [];

  constructor(t: Test, kind: PlayerKind, url: string) {
    this.kind = kind;
    const folder = tempFolder(t);
    kind.prepare?.(folder);
    if (kind.asNobody) giveToNobody(folder);
    const [name, ...args] = [...(kind.asNobody ? asNobody : []), kind.program, ...kind.args(url, folder)];
    const env = { ...process.env, HOME: folder, LC_ALL: 'C.UTF-8', ...kind.env };
    this.child = spawn(name!, args, { env, detached: true });
    for (const stream of [this.child.stdout!, this.child.stderr!]) stream.on('data', (part) => this.#parts.push(part));
    this.child.stdin!.on('error', () => undefined);
    this.child.on('exit', (code, signal) => {
      this.ended = String(signal ?? code);
    });
    t.teardown(() => this.end('SIGKILL'));
    if (kind.socket !== undefined) this.#listen(t, join(folder, kind.socket));
  }

  get name(): string {
    return this.kind.name ?? this.kind.program;
  }

  get said(): string {
    return Buffer.concat(this.#parts).toString();
  }

  shows(title: Shown, codec = 'mp3'): boolean {
    return this.said.includes(this.kind.shows(title, codec));
  }

  /** Its position in seconds; -1 where it has not reported any. */
  get position(): number {
    return this.positionSince(0);
  }

  /** The same, of what it has said since then. @param length of `said` at that moment */
  positionSince(length: number): number {
    const last = [...this.said.slice(length).matchAll(new RegExp(this.kind.position!, 'gm'))].at(-1);
    return last === undefined ? -1 : last.slice(1).reduce((sum, part) => sum * 60 + Number(part), 0);
  }

  /** Whether it plays nothing since then. @param length of `said` at that moment */
  isOver(length: number): boolean {
    return this.ended !== undefined || this.kind.stopped?.test(this.said.slice(length)) === true;
  }

  get complaints(): string[] {
    const { complaint, excused } = this.kind;
    return this.said.split(/[\r\n]/).filter((line) => complaint.test(line) && excused?.test(line) !== true);
  }

  /** Gives a line to the shell that it runs in. */
  command(line: string): void {
    this.child.stdin!.write(`${line}\n`);
  }

  /** The whole group: shells have children. */
  end(signal: NodeJS.Signals = 'SIGTERM'): void {
    try {
      process.kill(-this.child.pid!, signal);
    } catch {
      // It has ended.
    }
  }

  /** mpv's JSON over its socket: the title, whenever it changes. */
  #listen(t: Test, path: string): void {
    const retry = setInterval(() => {
      const socket = net.connect(path);
      socket.on('error', () => socket.destroy());
      socket.on('connect', () => {
        clearInterval(retry);
        socket.write(`${JSON.stringify({ command: ['observe_property', 1, 'media-title'] })}\n`);
      });
      socket.on('data', (part: Buffer) =>
        this.#parts.push(Buffer.from(part.toString().replace(/"error":"success"/g, ''))),
      );
      t.teardown(() => socket.destroy());
    }, 200);
    t.teardown(() => clearInterval(retry));
  }
}
