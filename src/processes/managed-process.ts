/**
 * A child process as its supervisor sees it: it is started, given its work, and ended where it hangs.
 *
 *   starting ──waiting──► booting ──ready──► running ──► ended        hanging: no sign of life for HANGING_MS; killed
 */

import { type ChildProcess, fork } from 'node:child_process';
import cluster from 'node:cluster';
import type { Socket } from 'node:net';
import {
  ALIVE_MS,
  type Boot,
  type FromChild,
  HANGING_MS,
  MESSAGES_VERSION,
  type ProcessRole,
  type ToChild,
} from './messages.js';

/** How long a child may need until it is ready: its store may have to be looked through. */
const START_MS = 120_000;

export interface ManagedProcessParts {
  readonly role: ProcessRole;
  readonly boot: Boot;
  /** The program. */
  readonly script: string;
  onReady(child: ManagedProcess, ready: Extract<FromChild, { type: 'ready' }>): void;
  /** A message for another process. */
  onMessage(child: ManagedProcess, message: FromChild, socket: Socket | undefined): void;
  /** @param why for the log */
  onEnded(child: ManagedProcess, why: EndOfProcess): void;
}

export interface EndOfProcess {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It said that it cannot start. */
  readonly reason: string | null;
  readonly wasHanging: boolean;
}

export class ManagedProcess {
  readonly role: ProcessRole;
  readonly boot: Boot;
  isReady = false;
  hasEnded = false;
  /** Asked to stop. */
  isStopping = false;
  readonly #parts: ManagedProcessParts;
  readonly #process: ChildProcess;
  #aliveMs = performance.now();
  #lookedMs = performance.now();
  #reason: string | null = null;
  #wasHanging = false;
  readonly #said = new Set<FromChild['type']>();
  readonly #waiting: { readonly type: FromChild['type']; readonly resolve: () => void }[] = [];
  readonly #timer: NodeJS.Timeout;
  readonly #end: Promise<void>;

  constructor(parts: ManagedProcessParts) {
    this.#parts = parts;
    this.role = parts.role;
    this.boot = parts.boot;
    const env = { ...process.env, AIRSPLICE_PROCESS: parts.role };
    // Workers share the ports of the supervisor; the hub has none, and must not get its local sockets from there.
    this.#process =
      parts.role === 'worker' ? cluster.fork(env).process : fork(parts.script, { env, serialization: 'advanced' });
    this.#process.on('message', (message, socket) =>
      this.#onMessage(message as FromChild, socket as Socket | undefined),
    );
    this.#process.on('error', () => undefined);
    this.#end = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        this.hasEnded = true;
        clearInterval(this.#timer);
        parts.onEnded(this, { code, signal, reason: this.#reason, wasHanging: this.#wasHanging });
        resolve();
      });
    });
    this.#timer = setInterval(() => this.#look(), ALIVE_MS);
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get number(): number {
    return this.boot.number;
  }

  /** Resolves when it has said this, if it has not yet; rejects where it ends before, with why. */
  said(type: FromChild['type']): Promise<void> {
    if (this.#said.has(type)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ type, resolve });
      void this.#end.then(() => reject(new Error(this.#reason ?? `the ${this.role} has ended`)));
    });
  }

  /** Resolves when it is gone. */
  ended(): Promise<void> {
    return this.#end;
  }

  /** What cannot be sent has nobody to get it: the end of the process follows. @param onSent when the socket is no longer here */
  send(message: ToChild, socket?: Socket, onSent: () => void = () => undefined): void {
    if (this.hasEnded || !this.#process.connected) onSent();
    else this.#process.send(message, socket, {}, () => onSent());
  }

  /** Asks it to end; resolves when it is gone. It is killed where it takes longer than `graceMs` and a moment. */
  async stop(graceMs: number): Promise<void> {
    this.isStopping = true;
    this.send({ type: 'stop', graceMs });
    const timer = setTimeout(() => this.kill(), graceMs + MOMENT_MS);
    await this.#end;
    clearTimeout(timer);
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  #onMessage(message: FromChild, socket: Socket | undefined): void {
    this.#aliveMs = performance.now();
    if (message.type === 'waiting') this.#boot(message.version);
    else if (message.type === 'ready') {
      this.isReady = true;
      this.#parts.onReady(this, message);
    } else if (message.type === 'failed') this.#reason = message.reason;
    else if (message.type !== 'alive') this.#parts.onMessage(this, message, socket);
    if (message.type === 'alive' || message.type === 'encoder') return;
    this.#said.add(message.type);
    for (const { type, resolve } of this.#waiting) if (type === message.type) resolve();
  }

  /** A program of another version on the disk may not know what it is sent, and is sent nothing. */
  #boot(version: number): void {
    if (version === MESSAGES_VERSION) {
      this.send({ type: 'boot', boot: this.#parts.boot });
      return;
    }
    this.#reason = `the program speaks version ${version} of the supervisor's messages, and this supervisor version ${MESSAGES_VERSION}: the server must be stopped and started`;
    this.kill();
  }

  /** Where this process itself stood still, what children said waits to be read: they get the time once more. */
  #look(): void {
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs > 2 * ALIVE_MS) this.#aliveMs = Math.max(this.#aliveMs, nowMs - ALIVE_MS);
    this.#lookedMs = nowMs;
    if (nowMs - this.#aliveMs < (this.isReady ? HANGING_MS : START_MS) || this.isStopping) return;
    this.#wasHanging = true;
    this.kill();
  }
}

/** What a child may take beyond its grace. */
const MOMENT_MS = 500;
