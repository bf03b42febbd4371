/**
 * Players of other projects: how each is started, and what it prints for a title, for its position, and for a fault of the stream. All its reports
 * are text: on its outputs, over a socket, or from a program that polls it in the same shell. It ends with its test at the latest.
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
  /** Default: the started program. */
  readonly name?: string;
  readonly program: string;
  /** Its arguments. @param folder the player's, also its HOME, where it may write reports */
  args(url: string, folder: string): string[];
  /** Writes its configuration. */
  prepare?(folder: string): void;
  readonly env?: Readonly<Record<string, string>>;
  /** The text that it prints when it shows this title, for this codec. */
  shows(title: Shown, codec: string): string;
  /** What it prints for a fault of the stream. */
  readonly complaint: RegExp;
  /** Complaints that are not about the stream, or come from a lack of CPU. */
  readonly excused?: RegExp;
  /** Its regular reports of the position, with groups: hours, minutes and seconds, or seconds only. */
  readonly position?: RegExp;
  /** Its regular reports while it plays nothing; without them, it ends when its stream ends. */
  readonly stopped?: RegExp;
  /** A line for its shell that plays the URL again, unless it plays. */
  readonly again?: string;
  /**
   * Its limitations by codec. `first title`: it only shows the title in force when it joined. `one link`: it cannot play chained Ogg, and is silent
   * from the first change of titles or sources on (libFLAC before 1.5).
   */
  readonly limits?: Readonly<Record<string, 'first title' | 'one link'>>;
  /** Whether it refuses to run as root. */
  readonly asNobody?: true;
  /** A socket in its folder, for reports that it does not print (mpv). */
  readonly socket?: string;
}

/** The title as one line. */
export function titleLine({ artist, song }: Shown): string {
  return artist === '' ? song : `${artist} - ${song}`;
}

/** A running player. */
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

  /** Its position in seconds; -1: not reported yet. */
  get position(): number {
    return this.positionSince(0);
  }

  /** Its position in the output since a moment. @param length of `said` at that moment */
  positionSince(length: number): number {
    const last = [...this.said.slice(length).matchAll(new RegExp(this.kind.position!, 'gm'))].at(-1);
    return last === undefined ? -1 : last.slice(1).reduce((sum, part) => sum * 60 + Number(part), 0);
  }

  /** Whether it plays nothing since a moment. @param length of `said` at that moment */
  isOver(length: number): boolean {
    return this.ended !== undefined || this.kind.stopped?.test(this.said.slice(length)) === true;
  }

  get complaints(): string[] {
    const { complaint, excused } = this.kind;
    return this.said.split(/[\r\n]/).filter((line) => complaint.test(line) && excused?.test(line) !== true);
  }

  /** Gives a line to its shell. */
  command(line: string): void {
    this.child.stdin!.write(`${line}\n`);
  }

  /** Signals the process group, since shells have children. */
  end(signal: NodeJS.Signals = 'SIGTERM'): void {
    try {
      process.kill(-this.child.pid!, signal);
    } catch {
      // It has ended already.
    }
  }

  /** Reads mpv's JSON from its socket: the title at each change. */
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
