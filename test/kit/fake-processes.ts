/**
 * A supervisor with fake processes: each one answers like a hub or a worker, at once, except for the faults that a test sets. So the supervisor's
 * decisions are tested in milliseconds; test/e2e has real processes.
 */

import { EventEmitter } from 'node:events';
import type { Test } from 'tap';
import { checkConfig } from '../../src/config/load.js';
import type { ReloadPlan } from '../../src/config/plan.js';
import {
  ALIVE_MS,
  type Boot,
  type FromChild,
  MESSAGES_VERSION,
  type ProcessRole,
  STEPS_VERSION,
  type ToChild,
} from '../../src/processes/messages.js';
import type { SystemProcess } from '../../src/processes/supervisor/managed-process.js';
import { Supervisor } from '../../src/processes/supervisor/supervisor.js';
import { FakeTimers, turn } from './fake-timers.js';
import { keepLines } from './log-lines.js';

/** A process's misbehaviour. */
type Fault = 'refuses' | 'dies' | 'is silent' | 'is another version' | 'knows no steps';

class FakeProcess extends EventEmitter implements SystemProcess {
  readonly role: ProcessRole;
  readonly pid: number;
  /** Such as `worker 2`: processes are numbered in the order of their starts. */
  readonly name: string;
  /** Its first message, and the values of the configuration in force there. */
  boot: Boot | null = null;
  value: unknown;
  #prepared: unknown;
  /** Milliseconds that it has to stop; null: it was not asked to. */
  graceMs: number | null = null;
  hasEnded = false;
  isHanging = false;
  readonly #machine: FakeMachine;

  constructor(role: ProcessRole, number: number, machine: FakeMachine) {
    super();
    this.role = role;
    this.pid = number;
    this.name = `${role} ${number}`;
    this.#machine = machine;
    const version = machine.faults[`${this.name} waiting`] === 'is another version' ? 0 : MESSAGES_VERSION;
    queueMicrotask(() => this.say({ type: 'waiting', version }));
  }

  say(message: FromChild): void {
    if (!this.hasEnded) this.emit('message', message);
  }

  send(message: ToChild, _socket: unknown, _options: unknown, onSent: (error: Error | null) => void): void {
    queueMicrotask(() => {
      onSent(this.hasEnded ? new Error('it has ended') : null);
      if (!this.hasEnded) this.#hear(message);
    });
  }

  kill(): void {
    queueMicrotask(() => this.end(null, 'SIGKILL'));
  }

  end(code: number | null, signal: NodeJS.Signals | null = null): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.#machine.heard.push(`${this.name} ended`);
    this.emit('exit', code, signal);
  }

  #hear(message: ToChild): void {
    const what = message.type === 'reloadStep' ? message.step : message.type;
    this.#machine.heard.push(`${this.name} ${what}`);
    if (message.type === 'boot') {
      this.boot = message.boot;
      this.value = message.boot.source.value;
    }
    const fault = this.#machine.faults[`${this.name} ${what}`];
    if (fault === 'dies') this.end(70);
    else if (fault !== 'is silent') this.#act(message, fault);
  }

  #act(message: ToChild, fault: Fault | undefined): void {
    const reason = fault === 'refuses' ? `${this.name} cannot` : null;
    if (message.type === 'reloadStep') {
      const { id, step, source } = message;
      if (step === 'prepare') this.#prepared = source?.value;
      if (step === 'commit' && reason === null) this.value = this.#prepared;
      this.say({ type: 'reloadStep', id, step, reason });
    } else if (message.type === 'boot') {
      if (reason !== null) {
        this.say({ type: 'failed', reason });
        this.end(1);
      } else if (message.boot.offers === null) this.say({ type: 'standby' });
      else this.ready(fault);
    } else if (message.type === 'go') this.ready(fault);
    else if (message.type === 'handover') {
      this.say({ type: 'released' });
      this.end(0);
    } else if (message.type === 'stop') {
      this.graceMs = message.graceMs;
      this.end(0);
    }
  }

  ready(fault?: Fault): void {
    const steps = fault === 'knows no steps' ? {} : { steps: STEPS_VERSION };
    this.say({ type: 'ready', ports: [8000], shoutcastPorts: [null], ...steps });
  }
}

/** The changeable values of the configuration. */
interface Written {
  /** The channel's name, which changes at once. */
  readonly name: string;
  /** Changes with new processes only. */
  readonly handshakes?: number;
  /** Cannot change while the supervisor lives. */
  readonly workers?: number;
}

const yaml = ({ name, handshakes = 8, workers = 2 }: Written) => `
workers: ${workers}
limits: { handshakes: ${handshakes} }
shutdown: { drainSeconds: 60 }
data: { folder: /nowhere }
stations:
  house:
    channels:
      studio: { name: ${name}, sources: [{ type: encoder, password: demo-source }] }
`;
const read = (text: string) => {
  const { config, checked } = checkConfig('/nowhere/config.yaml', {}, text);
  return { config, source: checked };
};

export class FakeMachine {
  readonly processes: FakeProcess[] = [];
  /** Messages to processes, and their ends, such as `hub 1 prepare`, `hub 1 ended`. */
  readonly heard: string[] = [];
  /** Keys as in `heard`. */
  readonly faults: Record<string, Fault>;
  readonly lines: ReturnType<typeof keepLines>['lines'];
  readonly supervisor: Supervisor;
  readonly #timers: FakeTimers;

  constructor(t: Test, faults: Record<string, Fault> = {}) {
    this.faults = faults;
    this.#timers = new FakeTimers(t);
    const { log, lines } = keepLines();
    this.lines = lines;
    const before = process.listeners('exit');
    this.supervisor = new Supervisor({
      ...read(yaml({ name: 'Day' })),
      workers: 2,
      log,
      reload: async () => 'nothing changes',
      launch: (role) => {
        const made = new FakeProcess(role, this.processes.length + 1, this);
        this.processes.push(made);
        return made;
      },
    });
    const onExit = process.listeners('exit').filter((each) => !before.includes(each));
    t.teardown(async () => {
      for (const each of this.processes) each.end(0);
      for (const each of onExit) {
        process.off('exit', each);
        each.call(process, 0);
      }
    });
  }

  /** Resolves when it serves, with `hub 1`, `worker 2` and `worker 3`. */
  static async start(t: Test, faults?: Record<string, Fault>): Promise<FakeMachine> {
    const machine = new FakeMachine(t, faults);
    await machine.supervisor.start(new AbortController().signal);
    await turn();
    machine.heard.length = 0;
    return machine;
  }

  process(name: string): FakeProcess {
    return this.processes.find((each) => each.name === name)!;
  }

  /** The running processes. */
  get running(): readonly string[] {
    return this.processes.filter(({ hasEnded }) => !hasEnded).map(({ name }) => name);
  }

  /** Entries of `heard` since the last call. @param about only these messages */
  said(...about: readonly string[]): readonly string[] {
    return this.heard.splice(0).filter((each) => about.length === 0 || about.some((what) => each.endsWith(` ${what}`)));
  }

  /** Stalls the supervisor itself. */
  stall(ms: number): void {
    this.#timers.stall(ms);
  }

  /** Time passes; processes that do not hang report that they are alive. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= ALIVE_MS) {
      await this.#timers.advance(Math.min(left, ALIVE_MS));
      for (const each of this.processes) if (!each.isHanging) each.say({ type: 'alive' });
    }
  }

  /** Reloads with this name of the channel, which is `Day` at first. */
  reload(name: string, more: Omit<Written, 'name'> = {}, byRestart = false): Promise<ReloadPlan> {
    return this.supervisor.reloads.apply(read(yaml({ name, ...more })), byRestart);
  }

  /** Process → the channel's name in force there. */
  get names(): Readonly<Record<string, string>> {
    const nameOf = (value: unknown) => /"name":"(\w+)"/.exec(JSON.stringify(value))![1]!;
    const running = this.processes.filter(({ hasEnded }) => !hasEnded);
    return Object.fromEntries(running.map(({ name, value }) => [name, nameOf(value)]));
  }
}
