/**
 * A child process as its supervisor sees it: it is started, given its work, and ended where it hangs.
 *
 *   starting ──waiting──► booting ──ready──► running ──► ended        hanging: no sign of life for HANGING_MS, in
 *       └── what it is sent waits until it is known to understand it                which it could run; killed
 */

import { ChildProcess, fork } from 'node:child_process';
import cluster from 'node:cluster';
import type { Socket } from 'node:net';
import { Requests } from '../../base/requests.js';
import { msUntil, nextWhole } from '../../base/whole-time.js';
import {
  ALIVE_MS,
  type Boot,
  type FromChild,
  HANGING_MS,
  MESSAGES_VERSION,
  type ProcessRole,
  type ReloadStep,
  STEPS_VERSION,
  stepKey,
  type ToChild,
} from '../messages.js';
import type { ConfigSource } from '../reload/configuration.js';
import type { ReloadParticipant } from '../reload/stepped-reloads.js';
import { ProcessSilence } from './process-silence.js';

/** How long a child may need until it is ready: its store may have to be looked through. */
const START_MS = 120_000;
/** Where a look comes this late, this process itself stood still. */
const STILL_MS = 250;
/** How much longer one that gets no processor may be silent. */
const MAX_STARVED_MS = 4 * HANGING_MS;
/** How long a step of a reload may take: a large configuration is made in it. */
const STEP_MS = 10_000;

/** A process of the system, as far as it is used here. It ends with `exit`; without a pid it was not started, and ends with `error`. */
export interface SystemProcess {
  readonly pid?: number | undefined;
  send(message: ToChild, socket: Socket | undefined, options: { keepOpen: true }, onSent: OnSent): unknown;
  kill(signal: NodeJS.Signals): unknown;
  on(event: 'message', onMessage: (message: FromChild, socket: Socket | undefined) => void): unknown;
  on(event: 'error', onError: (error: Error) => void): unknown;
  once(event: 'exit', onExit: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
}
type OnSent = (error: Error | null) => void;

/** Starts one. */
export type Launch = (role: ProcessRole) => SystemProcess;

export interface ManagedProcessParts {
  readonly role: ProcessRole;
  readonly boot: Boot;
  readonly launch: Launch;
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

export class ManagedProcess implements ReloadParticipant {
  readonly role: ProcessRole;
  readonly boot: Boot;
  isReady = false;
  /** Whether it knows the steps of a reload. */
  knowsSteps = false;
  /** The text that is in force there, or is about to be. */
  source: ConfigSource;
  hasEnded = false;
  /** Asked to stop. */
  isStopping = false;
  /** What it was asked and has not answered. Those that wait when it ends are rejected. */
  readonly requests: Requests;
  readonly #parts: ManagedProcessParts;
  readonly #process: SystemProcess;
  readonly #silence = new ProcessSilence(MAX_STARVED_MS);
  #lookMs = performance.now();
  #reason: string | null = null;
  #wasHanging = false;
  readonly #said = new Set<FromChild['type']>();
  readonly #waiting: { readonly type: FromChild['type']; readonly resolve: () => void }[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #end: Promise<void>;
  /** What is to be sent once it has its work; null: it has. */
  #kept: (() => void)[] | null = [];
  /** Called where it ends before it was sent what it was to be sent. */
  readonly #unsent = new Set<(isSent: boolean) => void>();

  constructor(parts: ManagedProcessParts) {
    this.#parts = parts;
    this.role = parts.role;
    this.boot = parts.boot;
    this.source = parts.boot.source;
    this.requests = new Requests(`${this.role} ${this.number}`);
    this.#process = parts.launch(this.role);
    this.#process.on('message', (message, socket) => this.#onMessage(message, socket));
    this.#end = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null) => {
        this.hasEnded = true;
        clearTimeout(this.#timer);
        this.requests.lose(this.#gone());
        parts.onEnded(this, { code, signal, reason: this.#reason, wasHanging: this.#wasHanging });
        for (const onSent of this.#unsent) onSent(false);
        resolve();
      };
      this.#process.once('exit', end);
      this.#process.on('error', ({ message }) => {
        // Else an exit follows. Without a process there is none.
        if (this.#process.pid !== undefined || this.hasEnded) return;
        this.#reason = message;
        end(null, null);
      });
    });
    this.#look();
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** It does its work, and says so. */
  get isServing(): boolean {
    return this.isReady && !this.hasEnded && this.#silence.ms(performance.now()) < 2 * HANGING_MS;
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

  /**
   * @param socket it stays open here
   * @param onSent called once: when message and socket are on their way, or when they cannot be any more
   */
  send(message: ToChild, socket?: Socket, onSent: (isSent: boolean) => void = () => undefined): void {
    if (this.hasEnded) {
      onSent(false);
      return;
    }
    const done = (isSent: boolean) => {
      if (this.#unsent.delete(done)) onSent(isSent);
    };
    this.#unsent.add(done);
    // Node itself would not close the sockets that it was to send to a process that has ended, nor say so.
    const send = () => void this.#process.send(message, socket, { keepOpen: true }, (error) => done(error === null));
    if (this.#kept === null) send();
    else this.#kept.push(send);
  }

  /** Resolves when it has taken this step of a reload, as ReloadParticipant has it. */
  async takeStep(id: number, step: ReloadStep, source: ConfigSource): Promise<void> {
    if (step === 'commit') this.source = source;
    const message = { type: 'reloadStep', id, step, ...(step === 'prepare' && { source }) } as const;
    try {
      if (this.hasEnded) throw this.#gone();
      await this.requests.ask(() => this.send(message), { key: stepKey(id, step), timeoutMs: STEP_MS });
    } catch (error) {
      if (this.role === 'hub' || !this.hasEnded) throw error;
    }
  }

  /** Asks it to end; resolves when it is gone. It is killed where it takes longer than `graceMs` and a moment, or has no work yet. */
  async stop(graceMs: number): Promise<void> {
    this.isStopping = true;
    if (this.#kept === null) this.send({ type: 'stop', graceMs });
    else this.kill();
    const timer = setTimeout(() => this.kill(), graceMs + MOMENT_MS);
    await this.#end;
    clearTimeout(timer);
  }

  kill(): void {
    // Else it was not started.
    if (this.#process.pid !== undefined) this.#process.kill('SIGKILL');
  }

  #gone(): Error {
    return new Error(`the ${this.role} has ended meanwhile`);
  }

  #onMessage(message: FromChild, socket: Socket | undefined): void {
    this.#silence.end();
    if (message.type === 'waiting') this.#boot(message.version);
    else if (message.type === 'ready') {
      this.isReady = true;
      this.knowsSteps = message.steps === STEPS_VERSION;
      this.#parts.onReady(this, message);
    } else if (message.type === 'failed') this.#reason = message.reason;
    else if (message.type !== 'alive' && !this.#isAnswer(message)) this.#parts.onMessage(this, message, socket);
    if (message.type === 'alive' || message.type === 'encoder') return;
    this.#said.add(message.type);
    for (const { type, resolve } of this.#waiting) if (type === message.type) resolve();
  }

  #isAnswer(message: FromChild): boolean {
    if (message.type === 'released') this.requests.answer('released', null);
    else if (message.type === 'reloadStep') {
      const { id, step, reason } = message;
      if (reason === null) this.requests.answer(stepKey(id, step), null);
      else this.requests.fail(stepKey(id, step), new Error(reason));
    } else if (message.type === 'backedUp') {
      const { id, name, reason } = message;
      if (name !== null) this.requests.answer(id, name);
      else this.requests.fail(id, new Error(reason ?? 'no backup'));
    } else return false;
    return true;
  }

  /** A program of another version on the disk may not know what it is sent, and is sent nothing. */
  #boot(version: number): void {
    if (version === MESSAGES_VERSION) {
      const kept = this.#kept ?? [];
      this.#kept = null;
      this.send({ type: 'boot', boot: this.#parts.boot });
      for (const send of kept) send();
      return;
    }
    this.#reason = `the program speaks version ${version} of the supervisor's messages, and this supervisor version ${MESSAGES_VERSION}: the server must be stopped and started`;
    this.kill();
  }

  /** Where this process itself stood still, what children said waits to be read: they get the time once more. */
  #look(): void {
    const nowMs = performance.now();
    if (nowMs - this.#lookMs > STILL_MS) this.#silence.cut(ALIVE_MS, nowMs);
    const maxSilentMs = this.isReady ? HANGING_MS : START_MS;
    if (this.#silence.ms(nowMs) > maxSilentMs - ALIVE_MS) this.#silence.look(this.pid ?? 0, nowMs);
    const leftMs = maxSilentMs - this.#silence.ms(nowMs);
    if (leftMs <= 0 && !this.isStopping) {
      this.#wasHanging = true;
      this.kill();
    }
    // All are looked at together, and one that may be hanging when it is.
    this.#lookMs = leftMs > 0 && leftMs < ALIVE_MS ? nowMs + leftMs : nextWhole(ALIVE_MS, nowMs);
    this.#timer = setTimeout(() => this.#look(), msUntil(this.#lookMs));
  }
}

/** What a child may take beyond its grace. */
const MOMENT_MS = 500;

/** Starts processes of this program. Where that fails there is an `error`, and no process. */
export function launchOf(script: string): Launch {
  return (role) => {
    const env = { ...process.env, AIRSPLICE_PROCESS: role };
    try {
      // Workers share the ports of the supervisor; the hub has none, and must not get its local sockets from there.
      if (role === 'hub') return fork(script, { env });
      // It repeats what it hears of its process: to nobody, Node would throw it.
      return cluster.fork(env).on('error', () => undefined).process;
    } catch (error) {
      // Node throws where memory is short, and says the rest as an event.
      const none = new ChildProcess();
      process.nextTick(() => none.emit('error', error));
      return none;
    }
  };
}
