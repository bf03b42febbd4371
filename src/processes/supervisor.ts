/**
 * Starts the hub and the workers, restarts what ends, and passes on signals and encoders' sockets; it does nothing else, so that nothing ends it.
 * README.md says what happens when one dies, and how all are replaced.
 *
 *   start ──► hub ready ──► workers ready ──► listening        a child that ends is started again, later each time while it keeps ending
 *
 * The listening sockets are this process's (node:cluster, shared: each worker accepts for itself), so a port stays open while workers come and go, and is closed only
 * between the last one's end and the next one's start: node:cluster closes it with its last user.
 */

import cluster from 'node:cluster';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NeedsRestart } from '../app/reload.js';
import { noReloads, withApplied, withRefused } from '../app/reload-results.js';
import type { Log } from '../base/log.js';
import { adoptConfig } from '../config/adopt.js';
import type { LoadedConfig } from '../config/load.js';
import { planReload, type ReloadPlan } from '../config/plan.js';
import type { ConfigSource } from './configuration.js';
import { DrainingWorkers } from './draining-workers.js';
import { HubBackups } from './hub-backups.js';
import { type EndOfProcess, ManagedProcess } from './managed-process.js';
import type { FromChild, HubPaths, ProcessRole } from './messages.js';
import { SocketPost } from './socket-post.js';
import { SteppedReloads } from './stepped-reloads.js';

/** When a child that has ended is started again: at once, and twice as late each time, unless it lived for STEADY_MS. */
const FIRST_PAUSE_MS = 50;
const MOST_PAUSE_MS = 10_000;
const STEADY_MS = 10_000;
/** How long a hub may take to hand over, and the next one then to be ready: requests wait as long. */
const HANDOVER_MS = 5000;
/** What is left of the grace for the hub. */
const HUB_MS = 1000;
/** How long a reload waits for a hub that is being started again. */
const NEXT_HUB_MS = 10_000;

export interface SupervisorParts {
  readonly config: LoadedConfig;
  readonly source: ConfigSource;
  readonly workers: number;
  readonly log: Log;
}

/** A place that a process fills: the hub's, or one worker's. */
interface ProcessPlace {
  readonly role: ProcessRole;
  child: ManagedProcess | null;
  startedMs: number;
  pauseMs: number;
  timer: NodeJS.Timeout | undefined;
}

export class Supervisor {
  ports: readonly number[] = [];
  shoutcastPorts: readonly (number | undefined)[] = [];
  readonly #parts: SupervisorParts;
  /** The text in force: of the processes that are started next. */
  #source: ConfigSource;
  readonly #folder = mkdtempSync(join(tmpdir(), 'airsplice-'));
  readonly #hub: ProcessPlace = emptyPlace('hub');
  readonly #workers: readonly ProcessPlace[];
  readonly #draining: DrainingWorkers;
  /** Sockets on their way to the hub. */
  readonly #post = new SocketPost();
  readonly #backups = new HubBackups();
  readonly #reloads = new SteppedReloads();
  #results = noReloads(Date.now() / 1000);
  #onReload: () => Promise<string> = notYet;
  #hubPaths: HubPaths;
  /** Workers that are being started to take the place of others. */
  #next: readonly ManagedProcess[] = [];
  /** Numbers are not given twice. */
  #last = 0;
  /** How often processes were started again. */
  readonly #restarts: Record<ProcessRole, number> = { hub: 0, worker: 0 };
  #isStopping = false;
  #isRestarting = false;
  /** Reloads come one after the other, and a restart behind the one that goes on. */
  #lastReload: Promise<unknown> = Promise.resolve();
  #onStarted: (() => void) | null = null;
  #onFailed: ((error: Error) => void) | null = null;

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
    this.#source = parts.source;
    this.#workers = Array.from({ length: parts.workers }, () => emptyPlace('worker'));
    this.#draining = new DrainingWorkers(parts.config.shutdown, parts.log);
    this.#hubPaths = this.#makePaths();
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ exec: process.argv[1]!, args: [], serialization: 'advanced' });
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }));
  }

  /** Resolves when all workers listen. Rejects where one cannot start, and ends all of them. @param signal gives it up */
  async start(signal: AbortSignal): Promise<void> {
    const begun = new Promise<void>((resolve, reject) => {
      this.#onStarted = resolve;
      this.#onFailed = reject;
      signal.addEventListener('abort', () => reject(new Error('stopped while it started')), { once: true });
    });
    this.#begin(this.#hub);
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

  /** What is wrong, in a few words; null: the hub and at least one worker do their work. */
  ailment(): string | null {
    if (this.#hub.child?.isServing !== true) return 'there is no hub';
    return this.#workers.some(({ child }) => child?.isServing) ? null : 'there is no worker';
  }

  /** What reads the configuration again, for operators who ask a worker; resolves with what that changed. */
  answerReload(onReload: () => Promise<string>): void {
    this.#onReload = onReload;
  }

  /** New access logs: the old ones were moved away. */
  reopen(): void {
    for (const worker of this.#allWorkers()) worker.send({ type: 'reopen' });
  }

  /**
   * Replaces all processes, by the program as it is on the disk now. Rejects where another restart is under way, and where a new process does not
   * start or speaks another version of messages.ts: then the old ones go on. Resolves when the new ones serve; old workers still serve whom they have.
   */
  async restart(): Promise<void> {
    if (this.#isRestarting || this.#isStopping || this.#onStarted !== null) {
      this.#parts.log.warn('a restart or a stop is under way: another one is not begun');
      throw new Error('not restarted: a restart or a stop is under way');
    }
    this.#isRestarting = true;
    try {
      await this.#lastReload;
      await this.#restartWith(this.#source);
    } finally {
      this.#isRestarting = false;
    }
  }

  /** @param source the text for the new ones, which is in force where they serve */
  async #restartWith(source: ConfigSource): Promise<void> {
    const { log } = this.#parts;
    this.#isRestarting = true;
    log.info('restarting');
    const before = this.#source;
    this.#source = source;
    try {
      const next = await this.#startNext().catch((error: Error) => {
        this.#source = before;
        log.error({ err: error }, 'the restart has failed: the processes that ran go on');
        throw new Error(`not restarted: ${error.message}`, { cause: error });
      });
      await this.#replace(next.hub, next.workers).catch((error: Error) => {
        throw new Error(`restarted, but ${error.message}: it is started again`, { cause: error });
      });
      log.info('restarted');
    } finally {
      this.#isRestarting = false;
      this.#bringAll();
    }
  }

  /**
   * Puts another configuration in force in all processes, in one step (stepped-reloads.ts); where one of them does not know how, by a restart. Rejects with
   * NeedsRestart for what only a restart can change, and with why it was refused otherwise; then nothing has changed.
   * @param next is used up
   * @param byRestart what a restart can change is changed by one
   */
  reload(next: LoadedConfig, source: ConfigSource, byRestart: boolean): Promise<ReloadPlan> {
    const turn = this.#lastReload.then(() => this.#reload(next, source, byRestart));
    this.#lastReload = turn.catch(() => undefined);
    return turn;
  }

  async #reload(next: LoadedConfig, source: ConfigSource, byRestart: boolean): Promise<ReloadPlan> {
    const { config } = this.#parts;
    const plan = planReload(config, next);
    const refused = byRestart ? plan.refused.filter(({ path }) => OWN_OPTIONS.has(path)) : plan.refused;
    if (refused.length > 0) {
      const isOwn = refused.some(({ path }) => OWN_OPTIONS.has(path));
      throw new NeedsRestart({ ...plan, refused }, isOwn ? undefined : BY_RESTART);
    }
    if (plan.changes.length > 0) {
      if (this.#isRestarting || this.#isStopping) throw new Error('not reloaded: a restart or a stop is under way');
      const hub = await this.#readyHub();
      const workers = this.#readyWorkers();
      if (plan.refused.length > 0 || ![hub, ...workers].every(({ knowsSteps }) => knowsSteps)) {
        await this.#restartWith(source);
      } else {
        const draining = [...this.#draining.all].filter(({ knowsSteps }) => knowsSteps);
        await this.#reloads.reload({ hub, workers, draining }, source, () => {
          this.#source = source;
        });
        this.#bringAll();
      }
    }
    adoptConfig(config, next);
    this.#results = withApplied(this.#results, Date.now() / 1000);
    this.#sayResults();
    return plan;
  }

  /** A configuration could not be read, or was refused. */
  refused(): void {
    this.#results = withRefused(this.#results);
    this.#sayResults();
  }

  /** Rejects where there is none for too long. */
  async #readyHub(): Promise<ManagedProcess> {
    const endMs = performance.now() + NEXT_HUB_MS;
    for (;;) {
      const { child } = this.#hub;
      if (child?.isServing) return child;
      if (performance.now() > endMs || this.#isStopping) throw new Error('not reloaded: there is no hub');
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** Workers that were started with another text than the one in force get it: each when it is ready, behind a reload that goes on. */
  #bringAll(): void {
    for (const worker of this.#readyWorkers()) {
      if (worker.source !== this.#source) this.#bring(worker);
    }
  }

  #bring(worker: ManagedProcess): void {
    this.#lastReload = this.#lastReload.then(async () => {
      if (worker.source === this.#source || worker.hasEnded) return;
      if (worker.knowsSteps) await this.#reloads.bring(worker, this.#source);
      else worker.kill();
    });
  }

  /** A copy of the store, beside it; resolves with its name in the data folder. Rejects while there is no hub. */
  backup(): Promise<string> {
    return this.#backups.ask(this.#hub.child);
  }

  /** A worker has been asked to have the configuration read again. */
  async #reloadFor(child: ManagedProcess, id: number): Promise<void> {
    try {
      const plan = await this.#onReload();
      child.send({ type: 'reloaded', id, plan, reason: null });
    } catch (error) {
      child.send({ type: 'reloaded', id, plan: null, reason: (error as Error).message });
    }
  }

  /** Workers first, so that what they have accepted is committed and answered. */
  async stop(graceMs = Number.POSITIVE_INFINITY): Promise<readonly unknown[]> {
    this.#isStopping = true;
    const endMs = performance.now() + Math.min(graceMs, this.#parts.config.shutdown.graceSeconds * 1000);
    for (const place of [this.#hub, ...this.#workers]) clearTimeout(place.timer);
    const workersMs = Math.max(0, endMs - performance.now() - HUB_MS);
    await Promise.all(this.#allWorkers().map((worker) => worker.stop(workersMs)));
    await this.#hub.child?.stop(Math.max(0, endMs - performance.now()));
    return [];
  }

  #begin(place: ProcessPlace): void {
    place.startedMs = performance.now();
    if (place.role === 'hub') this.#hubPaths = this.#makePaths();
    const offers = this.#allWorkers().filter(({ isReady }) => isReady).length;
    place.child = this.#spawn(place.role, this.#hubPaths, offers);
  }

  /** @param offers as Boot has it */
  #spawn(role: ProcessRole, hub: HubPaths, offers: number | null): ManagedProcess {
    return new ManagedProcess({
      role,
      boot: { source: this.#source, number: ++this.#last, hub, offers },
      script: process.argv[1]!,
      onReady: (child, ready) => this.#onReady(child, ready),
      onMessage: (child, message, socket) => this.#onMessage(child, message, socket),
      onEnded: (child, why) => this.#onEnded(child, why),
    });
  }

  /** The next hub, which waits, and the next workers, which serve already, or wait for a hub that they can speak with. */
  async #startNext(): Promise<{ readonly hub: ManagedProcess; readonly workers: readonly ManagedProcess[] }> {
    const hub = this.#spawn('hub', this.#makePaths(), null);
    const next = [hub];
    try {
      await hub.said('standby');
      if (this.#isStopping) throw new Error('stopped meanwhile');
      const workers = this.#workers.map(() => this.#spawn('worker', this.#hubPaths, 0));
      next.push(...workers);
      this.#next = workers;
      await Promise.all(workers.map((worker) => Promise.race([worker.said('ready'), worker.said('standby')])));
      if (this.#isStopping) throw new Error('stopped meanwhile');
      // In its place it would be missed by nobody.
      const gone = next.find(({ hasEnded }) => hasEnded);
      if (gone !== undefined) throw new Error(`the ${gone.role} has ended`);
      return { hub, workers };
    } catch (error) {
      for (const child of next) child.kill();
      throw error;
    } finally {
      this.#next = [];
    }
  }

  /** From here on the new ones count, whatever happens. */
  async #replace(hub: ManagedProcess, workers: readonly ManagedProcess[]): Promise<void> {
    const before = this.#hub.child;
    const old = this.#readyWorkers();
    this.#hubPaths = hub.boot.hub;
    for (const [i, place] of this.#workers.entries()) {
      // One that was being started again.
      if (place.child?.isReady === false) place.child.kill();
      fill(place, workers[i]!);
    }
    fill(this.#hub, hub);
    for (const worker of old) this.#draining.add(worker);
    this.#post.hold();
    if (before?.isReady && (await this.#released(before, hub))) hub.send({ type: 'go', offers: 1 });
    else {
      before?.kill();
      const all = this.#allWorkers();
      for (const worker of all) worker.send({ type: 'offer', hub: hub.boot.hub });
      hub.send({ type: 'go', offers: all.length });
    }
    try {
      await hub.said('ready');
      await Promise.all(workers.map((worker) => worker.said('ready')));
    } finally {
      for (const worker of old) this.#draining.drain(worker);
    }
  }

  /** Whether the hub has handed over to the next one. It ends by itself then. */
  async #released(before: ManagedProcess, next: ManagedProcess): Promise<boolean> {
    before.isStopping = true;
    before.send({ type: 'handover', hub: next.boot.hub });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, HANDOVER_MS, false)));
    const isReleased = await Promise.race([before.said('released').then(...ANSWERS), late]);
    clearTimeout(timer);
    if (!isReleased) this.#parts.log.error({ pid: before.pid }, 'the hub has not handed over: its encoders come again');
    // What the next one wants of it, it has soon.
    setTimeout(() => before.kill(), HANDOVER_MS).unref();
    return isReleased;
  }

  #onReady(child: ManagedProcess, { ports, shoutcastPorts }: Extract<FromChild, { type: 'ready' }>): void {
    this.#parts.log.info({ process: child.role, number: child.number, pid: child.pid }, 'process ready');
    if (child.role === 'worker') {
      this.ports = ports;
      this.shoutcastPorts = shoutcastPorts.map((port) => port ?? undefined);
      if (this.#workers.every((place) => place.child?.isReady)) this.#onStarted?.();
      if (!this.#isRestarting && child.source !== this.#source) this.#bring(child);
      return;
    }
    this.#sayRestarts();
    this.#sayResults();
    for (const place of this.#isStopping ? [] : this.#workers) {
      if (place.child === null && place.timer === undefined) this.#begin(place);
    }
    for (const worker of this.#allWorkers()) worker.send({ type: 'hub', hub: this.#hubPaths });
    this.#post.deliver(child);
  }

  #readyWorkers(): readonly ManagedProcess[] {
    return this.#workers.flatMap(({ child }) => (child?.isReady ? [child] : []));
  }

  /** Also those that drain, and those that will follow. */
  #allWorkers(): readonly ManagedProcess[] {
    return [...this.#workers.flatMap(({ child }) => child ?? []), ...this.#draining.all, ...this.#next];
  }

  #onMessage(child: ManagedProcess, message: FromChild, socket: Socket | undefined): void {
    if (message.type === 'taking') {
      for (const worker of this.#allWorkers()) worker.send({ type: 'offer', hub: child.boot.hub });
    } else if (message.type === 'backedUp') this.#backups.onAnswer(message);
    else if (message.type === 'reloadStep') this.#reloads.onAnswer(child, message);
    else if (message.type === 'reload') void this.#reloadFor(child, message.id);
    else if (message.type === 'drained') this.#draining.end(child);
    else if (message.type === 'standby') this.#onStandby(child);
    else if (socket === undefined) return;
    else if (message.type === 'connection') this.#post.send(message, socket, this.#hub.child);
    else if (message.type === 'encoder') this.#post.send(message, socket, null);
    else socket.destroy();
  }

  /** Those that will follow may wait for the next hub. For another worker none comes: it serves nobody. */
  #onStandby(child: ManagedProcess): void {
    if (child.role === 'hub' || this.#next.includes(child)) return;
    const { number, pid } = child;
    this.#parts.log.error({ number, pid }, 'the program on the disk is not that of the hub: restart (SIGUSR2)');
    // The program has changed under the restart: that has failed, and the worker is started again.
    if (this.#isRestarting) child.kill();
  }

  #onEnded(child: ManagedProcess, why: EndOfProcess): void {
    const place = [this.#hub, ...this.#workers].find((each) => each.child === child);
    this.#draining.delete(child);
    this.#backups.onEnded(child);
    this.#reloads.onEnded(child);
    if (place === undefined) return;
    place.child = null;
    if (this.#isStopping) return;
    if (this.#onFailed !== null) {
      this.#onFailed(new Error(why.reason ?? `the ${child.role} ended (${why.signal ?? `code ${why.code}`})`));
      return;
    }
    if (child.role === 'hub') this.#post.hold();
    const livedMs = performance.now() - place.startedMs;
    place.pauseMs = livedMs >= STEADY_MS ? FIRST_PAUSE_MS : Math.min(MOST_PAUSE_MS, 2 * place.pauseMs);
    const fields = { process: child.role, number: child.number, ...why, againMs: place.pauseMs };
    this.#parts.log.error(fields, 'a process has ended: it is started again');
    place.timer = setTimeout(() => {
      place.timer = undefined;
      this.#restarts[place.role]++;
      this.#sayRestarts();
      this.#begin(place);
    }, place.pauseMs);
  }

  /** For the metrics. */
  #sayRestarts(): void {
    this.#hub.child?.send({ type: 'restarts', restarts: { ...this.#restarts } });
  }

  /** For the metrics. */
  #sayResults(): void {
    this.#hub.child?.send({ type: 'reloads', results: this.#results });
  }

  #makePaths(): HubPaths {
    const name = join(this.#folder, String(this.#last + 1));
    return { link: `${name}.link`, encoders: `${name}.encoders`, tapes: `${name}.tapes` };
  }
}

/** What this process reads itself, and cannot change. */
const OWN_OPTIONS: ReadonlySet<string> = new Set(['workers', 'data.folder']);
/** For the rest. */
const BY_RESTART = 'airsplice reload --restart CONFIG changes them, with new processes';
/** How often a hub is looked for. */
const LOOK_MS = 50;

function notYet(): Promise<string> {
  return Promise.reject(new Error('the server is being started'));
}

/** Of a promise: whether it was kept. */
const ANSWERS = [() => true, () => false] as const;

function emptyPlace(role: ProcessRole): ProcessPlace {
  return { role, child: null, startedMs: 0, pauseMs: FIRST_PAUSE_MS / 2, timer: undefined };
}

function fill(place: ProcessPlace, child: ManagedProcess): void {
  clearTimeout(place.timer);
  place.timer = undefined;
  place.child = child;
  place.startedMs = performance.now();
  place.pauseMs = FIRST_PAUSE_MS / 2;
}
