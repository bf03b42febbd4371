/**
 * Starts the hub and the workers, restarts those that end, and passes on signals and encoders' sockets. It does nothing else, so that nothing ends
 * it. README.md describes what happens when a process dies, and how all are replaced.
 *
 *   start ──► hub ready ──► workers ready ──► listening        a child that ends is restarted, later each time while it keeps ending
 *
 * This process owns the listening sockets (node:cluster, shared: each worker accepts for itself), so a port stays open while workers come and go. It
 * is closed only if no worker is left, until the next one starts: node:cluster closes a socket with its last user.
 */

import cluster from 'node:cluster';
import type { Socket } from 'node:net';
import { NeedsRestart } from '../../app/reload.js';
import type { Log } from '../../base/log.js';
import { adoptConfig } from '../../config/adopt.js';
import type { LoadedConfig } from '../../config/load.js';
import { planReload, type ReloadPlan } from '../../config/plan.js';
import { programName } from '../../setup/program-name.js';
import type { FromChild } from '../messages.js';
import { type ConfigSource, configOf, type NextConfig } from '../reload/configuration.js';
import { Reloads } from '../reload/reloads.js';
import { SteppedReloads } from '../reload/stepped-reloads.js';
import { DrainingWorkers } from '../restart/draining-workers.js';
import { RollingRestart } from '../restart/rolling-restart.js';
import { Backups } from './backups.js';
import { Children } from './children.js';
import { type EndOfProcess, type Launch, launchOf, type ManagedProcess } from './managed-process.js';
import { SocketPost } from './socket-post.js';

/** The part of the grace that is reserved for the hub, milliseconds. */
const HUB_MS = 1000;
/** How long a reload waits for a hub that is being restarted. */
const NEXT_HUB_MS = 10_000;

export interface SupervisorParts {
  readonly config: LoadedConfig;
  readonly source: ConfigSource;
  readonly workers: number;
  readonly log: Log;
  /** Reloads the configuration when an operator asks a worker; resolves with the changes as text. */
  reload(): Promise<string>;
  /** Absent: starts processes of this program. */
  readonly launch?: Launch;
}

export class Supervisor {
  readonly reloads: Reloads;
  ports: readonly number[] = [];
  shoutcastPorts: readonly (number | undefined)[] = [];
  readonly #parts: SupervisorParts;
  readonly #children: Children;
  /** Encoders' sockets on their way to the hub. */
  readonly #post = new SocketPost();
  readonly #backups = new Backups();
  readonly #restarting: RollingRestart;
  readonly #stepped = new SteppedReloads();
  #isRestarting = false;
  #onStarted: (() => void) | null = null;
  #onFailed: ((error: Error) => void) | null = null;

  constructor(parts: SupervisorParts) {
    const { config, source, workers, log, launch = launchOf(process.argv[1]!) } = parts;
    this.#parts = parts;
    this.#children = new Children(source, workers, new DrainingWorkers(config.shutdown, log), {
      launch,
      onReady: (child, ready) => this.#onReady(child, ready),
      onMessage: (child, message, socket) => this.#onMessage(child, message, socket),
      onEnded: (child, why) => this.#onEnded(child, why),
    });
    this.#restarting = new RollingRestart(this.#children, this.#post, log);
    this.reloads = new Reloads({
      config,
      put: (next, plan, byRestart) => this.#put(next, plan, byRestart),
      onResults: () => this.#sayResults(),
    });
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ exec: process.argv[1]!, args: [] });
  }

  /** Resolves when all workers listen. Ends all and rejects if a process cannot start, or on `signal`. */
  async start(signal: AbortSignal): Promise<void> {
    const begun = new Promise<void>((resolve, reject) => {
      this.#onStarted = resolve;
      this.#onFailed = reject;
      signal.addEventListener('abort', () => reject(new Error('stopped while starting')), { once: true });
    });
    this.#children.hub.start();
    try {
      await begun;
    } catch (error) {
      await this.stop(0);
      throw error;
    } finally {
      this.#onStarted = null;
      this.#onFailed = null;
    }
  }

  /** What is wrong, in a few words; null if the hub and at least one worker serve. */
  fault(): string | null {
    return this.#children.fault;
  }

  /** Reopens the access logs, whose files were rotated. */
  reopen(): void {
    for (const worker of this.#children.allWorkers()) worker.send({ type: 'reopen' });
  }

  /**
   * Replaces all processes by the program that is on the disk. Resolves when the new ones serve; old workers still serve their connections. Rejects,
   * and keeps the old ones, if another restart is under way, or a new process does not start or speaks another version of messages.ts.
   */
  async restart(): Promise<void> {
    if (this.#isRestarting || this.#children.isStopping || this.#onStarted !== null) {
      this.#parts.log.warn('a restart or a stop is already under way');
      throw new Error('not restarted: a restart or a stop is under way');
    }
    this.#isRestarting = true;
    await this.reloads.inTurn(async () => undefined);
    await this.#restartWith(this.#children.source);
  }

  /** @param source the configuration of the new processes */
  async #restartWith(source: ConfigSource): Promise<void> {
    this.#isRestarting = true;
    try {
      await this.#backups.done();
      await this.#restarting.restart(source);
    } finally {
      this.#isRestarting = false;
      this.#bringAll();
    }
  }

  /**
   * Puts another configuration in force in all processes, in one step (stepped-reloads.ts), or by a restart if one of them does not know the steps.
   * Implements ReloadsParts.
   */
  async #put(next: NextConfig, plan: ReloadPlan, byRestart: boolean): Promise<void> {
    const { config } = this.#parts;
    const { source } = next;
    const refused = byRestart ? plan.refused.filter(({ path }) => OWN_OPTIONS.has(path)) : plan.refused;
    if (refused.length > 0) {
      const isOwn = refused.some(({ path }) => OWN_OPTIONS.has(path));
      throw new NeedsRestart({ ...plan, refused }, isOwn ? undefined : BY_RESTART);
    }
    if (plan.changes.length > 0) {
      if (this.#isRestarting || this.#children.isStopping)
        throw new Error('not reloaded: a restart or a stop is under way');
      const hub = await this.#children.readyHub(NEXT_HUB_MS);
      if (hub === null) throw new Error('not reloaded: there is no hub');
      const ready = this.#children.readyWorkers();
      if (plan.refused.length > 0 || ![hub, ...ready].every(({ knowsSteps }) => knowsSteps)) {
        await this.#restartWith(source).catch((error: Error) => {
          // A new process has ended after the replacement: it is started again with this configuration.
          if (this.#children.source === source) adoptConfig(config, next.config);
          throw error;
        });
      } else {
        const canChange = (worker: ManagedProcess) => worker.knowsSteps && this.#canChange(worker, next.config);
        const workers = ready.filter(canChange);
        const draining = [...this.#children.draining.all].filter(canChange);
        await this.#stepped.reload({ hub, workers, draining }, source, () => {
          this.#children.source = source;
        });
        this.#bringAll();
      }
    }
    adoptConfig(config, next.config);
  }

  /** Whether the process can change to this configuration without a restart; false too if its present one can no longer be read. */
  #canChange({ source }: ManagedProcess, next: LoadedConfig): boolean {
    try {
      return source === this.#children.source || planReload(configOf(source), next).refused.length === 0;
    } catch {
      return false;
    }
  }

  /** Brings the configuration in force to ready workers that were started with another one, after a reload that is under way. */
  #bringAll(): void {
    const { source } = this.#children;
    for (const worker of this.#children.readyWorkers()) if (worker.source !== source) this.#bring(worker);
  }

  #bring(worker: ManagedProcess): void {
    void this.reloads.inTurn(async () => {
      const { source } = this.#children;
      if (worker.source === source || worker.hasEnded) return;
      if (worker.knowsSteps && this.#canChange(worker, this.#parts.config)) await this.#stepped.bring(worker, source);
      else worker.kill();
    });
  }

  /** Copies the store; resolves with the copy's name in the data folder. Rejects while there is no hub, and during a restart. */
  backup(): Promise<string> {
    if (this.#isRestarting) return Promise.reject(new Error('a restart is under way: try again'));
    return this.#backups.make(this.#children.hub.child);
  }

  /** Reloads because an operator has asked a worker. */
  async #reloadFor(child: ManagedProcess, id: number): Promise<void> {
    try {
      const plan = await this.#parts.reload();
      child.send({ type: 'reloaded', id, plan, reason: null });
    } catch (error) {
      child.send({ type: 'reloaded', id, plan: null, reason: (error as Error).message });
    }
  }

  /** Stops the workers first, so that what they have accepted is committed and answered. */
  async stop(graceMs = Number.POSITIVE_INFINITY): Promise<readonly unknown[]> {
    const { hub } = this.#children;
    this.#children.stop();
    const allMs = Math.min(graceMs, this.#parts.config.shutdown.graceSeconds * 1000);
    const endMs = performance.now() + allMs;
    await Promise.all(this.#children.allWorkers().map((worker) => worker.stop(allMs - Math.min(HUB_MS, allMs / 2))));
    await hub.child?.stop(Math.max(0, endMs - performance.now()));
    return [];
  }

  #onReady(child: ManagedProcess, { ports, shoutcastPorts }: Extract<FromChild, { type: 'ready' }>): void {
    this.#parts.log.info({ process: child.role, number: child.number, pid: child.pid }, 'process ready');
    const children = this.#children;
    if (child.role === 'worker') {
      this.ports = ports;
      this.shoutcastPorts = shoutcastPorts.map((port) => port ?? undefined);
      if (children.workers.every((slot) => slot.child?.isReady)) this.#onStarted?.();
      if (!this.#isRestarting && child.source !== children.source) this.#bring(child);
      return;
    }
    children.onHub(child);
    this.#sayRestarts();
    this.#sayResults();
    if (!children.isStopping) for (const slot of children.workers) if (slot.isEmpty) slot.start();
    for (const worker of children.allWorkers()) worker.send({ type: 'hub', hub: children.hubAddress });
    this.#post.deliver(child);
  }

  #onMessage(child: ManagedProcess, message: FromChild, socket: Socket | undefined): void {
    if (message.type === 'taking') {
      for (const worker of this.#children.allWorkers()) worker.send({ type: 'offer', hub: child.boot.hub });
    } else if (message.type === 'takes') {
      if (child === this.#children.hub.child) this.#children.suspects.onTakes(message);
    } else if (message.type === 'reload') void this.#reloadFor(child, message.id);
    else if (message.type === 'drained') this.#children.draining.end(child);
    else if (message.type === 'standby') this.#onStandby(child);
    else if (socket === undefined) return;
    else if (message.type === 'connection') this.#post.send(message, socket, this.#children.hub.child);
    else if (message.type === 'encoder') this.#post.send(message, socket, null);
    else socket.destroy();
  }

  /** Called when a process waits for a hub of its version. None comes for a worker that is not part of a restart: it serves no client. */
  #onStandby(child: ManagedProcess): void {
    if (child.role === 'hub' || this.#children.next.includes(child)) return;
    const { number, pid } = child;
    this.#parts.log.error({ number, pid }, 'the program on disk is not the one that the hub runs: restart (SIGUSR2)');
    // The program changed during the restart, so that fails, and the worker is started again.
    if (this.#isRestarting) child.kill();
  }

  #onEnded(child: ManagedProcess, why: EndOfProcess): void {
    const slot = this.#children.slots.find((each) => each.child === child);
    this.#children.draining.delete(child);
    if (slot === undefined) return;
    slot.child = null;
    if (this.#children.isStopping) return;
    if (this.#onFailed !== null) {
      this.#onFailed(new Error(why.reason ?? `the ${child.role} ended (${why.signal ?? `code ${why.code}`})`));
      return;
    }
    if (child.role === 'hub') {
      this.#post.hold();
      this.#children.suspects.onEnded(why);
    }
    const againMs = slot.again(() => this.#sayRestarts());
    const fields = { process: child.role, number: child.number, ...why, againMs };
    this.#parts.log.error(fields, 'a process has ended: restarting it');
  }

  /** Reports restarts to the hub, for the metrics. */
  #sayRestarts(): void {
    const { hub, workers } = this.#children;
    const restarts = { hub: hub.restarts, worker: workers.reduce((sum, slot) => sum + slot.restarts, 0) };
    hub.child?.send({ type: 'restarts', restarts });
  }

  /** Reports results of reloads to the hub, for the metrics. */
  #sayResults(): void {
    this.#children.hub.child?.send({ type: 'reloads', results: this.reloads.results });
  }
}

/** Options that the supervisor itself reads at its start. */
const OWN_OPTIONS: ReadonlySet<string> = new Set(['workers', 'data.folder']);
/** The advice for all other options that need new processes. */
const BY_RESTART = `\`${programName()} reload --restart CONFIG\` applies them, with new processes`;
