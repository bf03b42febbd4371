/**
 * A child process as its supervisor sees it: started, given its work, and killed if it hangs.
 *
 *   starting ──waiting──► booting ──ready──► running ──► ended        hanging: no sign of life for HANGING_MS in
 *       └── messages wait until the child has stated its version            which it could have run; it is killed
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

/** How long a child may take to become ready: its store may have to be searched. */
const START_MS = 120_000;
/** If a check comes this late, this process itself was suspended or blocked. */
const STILL_MS = 250;
/** How much longer a child that waits for a processor may be silent. */
const MAX_STARVED_MS = 4 * HANGING_MS;
/** How long a step of a reload may take: a large configuration is built in it. */
const STEP_MS = 10_000;

/** The part of ChildProcess that is used here. It ends with `exit`; one without a pid was never started, and ends with `error`. */
export interface SystemProcess {
  readonly pid?: number | undefined;
  send(message: ToChild, socket: Socket | undefined, options: { keepOpen: true }, onSent: OnSent): unknown;
  kill(signal: NodeJS.Signals): unknown;
  on(event: 'message', onMessage: (message: FromChild, socket: Socket | undefined) => void): unknown;
  on(event: 'error', onError: (error: Error) => void): unknown;
  once(event: 'exit', onExit: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
}
type OnSent = (error: Error | null) => void;

/** Starts a process. */
export type Launch = (role: ProcessRole) => SystemProcess;

export interface ManagedProcessParts {
  readonly role: ProcessRole;
  readonly boot: Boot;
  readonly launch: Launch;
  onReady(child: ManagedProcess, ready: Extract<FromChild, { type: 'ready' }>): void;
  /** Called with each message that is not for ManagedProcess itself. */
  onMessage(child: ManagedProcess, message: FromChild, socket: Socket | undefined): void;
  onEnded(child: ManagedProcess, why: EndOfProcess): void;
}

export interface EndOfProcess {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it could not start, as it reported; null if it did not. */
  readonly reason: string | null;
  readonly wasHanging: boolean;
}

export class ManagedProcess implements ReloadParticipant {
  readonly role: ProcessRole;
  readonly boot: Boot;
  isReady = false;
  /** Whether it knows the steps of a reload. */
  knowsSteps = false;
  /** The configuration that is in force there, or is about to be. */
  source: ConfigSource;
  hasEnded = false;
  isStopping = false;
  /** Requests that it has not answered yet; they are rejected when it ends. */
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
  /** Messages to send once it has its work; null once it has. */
  #kept: (() => void)[] | null = [];
  /** Callbacks of messages that are not sent yet, called with false if the process ends. */
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
        // Only a process that was never started has no `exit`.
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

  /** Whether it is ready and sends signs of life. */
  get isServing(): boolean {
    return this.isReady && !this.hasEnded && this.#silence.ms(performance.now()) < 2 * HANGING_MS;
  }

  get number(): number {
    return this.boot.number;
  }

  /** Resolves once it has sent a message of this type; rejects with the reason if it ends before. */
  said(type: FromChild['type']): Promise<void> {
    if (this.#said.has(type)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ type, resolve });
      void this.#end.then(() => reject(new Error(this.#reason ?? `the ${this.role} has ended`)));
    });
  }

  /** Resolves when it has ended. */
  ended(): Promise<void> {
    return this.#end;
  }

  /**
   * @param socket stays open in this process
   * @param onSent called once: when the message and its socket are sent, or when they can no longer be
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
    // Node neither closes nor reports sockets that it could not send because the process had ended.
    const send = () => void this.#process.send(message, socket, { keepOpen: true }, (error) => done(error === null));
    if (this.#kept === null) send();
    else this.#kept.push(send);
  }

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

  /** Asks it to stop; resolves when it has ended. Kills it after `graceMs` and a moment, or at once if it has no work yet. */
  async stop(graceMs: number): Promise<void> {
    this.isStopping = true;
    if (this.#kept === null) this.send({ type: 'stop', graceMs });
    else this.kill();
    const timer = setTimeout(() => this.kill(), graceMs + MOMENT_MS);
    await this.#end;
    clearTimeout(timer);
  }

  kill(): void {
    // Without a pid it was never started.
    if (this.#process.pid !== undefined) this.#process.kill('SIGKILL');
  }

  #gone(): Error {
    return new Error(`the ${this.role} has ended in the meantime`);
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

  /** Gives it its work, unless the program on the disk is of another version, which may not understand the messages. */
  #boot(version: number): void {
    if (version === MESSAGES_VERSION) {
      const kept = this.#kept ?? [];
      this.#kept = null;
      this.send({ type: 'boot', boot: this.#parts.boot });
      for (const send of kept) send();
      return;
    }
    this.#reason = `the program speaks version ${version} of the supervisor's messages, this supervisor version ${MESSAGES_VERSION}: stop and start the server`;
    this.kill();
  }

  /** Checks for signs of life. If this process itself stood still, messages may wait to be read, so the child gets its time again. */
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
    // All children are checked together, and one that may hang at the moment at which it does.
    this.#lookMs = leftMs > 0 && leftMs < ALIVE_MS ? nowMs + leftMs : nextWhole(ALIVE_MS, nowMs);
    this.#timer = setTimeout(() => this.#look(), msUntil(this.#lookMs));
  }
}

/** Time that a child may take beyond its grace, milliseconds. */
const MOMENT_MS = 500;

/** Returns what starts processes of this program. If a start fails, the result has no pid and emits `error`. */
export function launchOf(script: string): Launch {
  return (role) => {
    const env = { ...process.env, AIRSPLICE_PROCESS: role };
    try {
      // Workers share the supervisor's ports. The hub has none, and must not get its local sockets from the supervisor.
      if (role === 'hub') return fork(script, { env });
      // The cluster worker repeats the errors of its process, and Node would throw one that has no listener.
      return cluster.fork(env).on('error', () => undefined).process;
    } catch (error) {
      // Node throws if memory is short, and emits all other errors.
      const none = new ChildProcess();
      process.nextTick(() => none.emit('error', error));
      return none;
    }
  };
}
