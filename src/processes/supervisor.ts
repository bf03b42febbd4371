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
import type { Log } from '../base/log.js';
import type { LoadedConfig } from '../config/load.js';
import type { ConfigSource } from './configuration.js';
import { DrainingWorkers } from './draining-workers.js';
import { type EndOfProcess, ManagedProcess } from './managed-process.js';
import type { FromChild, HubPaths, ProcessRole } from './messages.js';
import { SocketPost } from './socket-post.js';

/** When a child that has ended is started again: at once, and twice as late each time, unless it lived for STEADY_MS. */
const FIRST_PAUSE_MS = 50;
const MOST_PAUSE_MS = 10_000;
const STEADY_MS = 10_000;
/** How long a hub may take to hand over, and the next one then to be ready: requests wait as long. */
const HANDOVER_MS = 5000;
/** What is left of the grace for the hub. */
const HUB_MS = 1000;

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
  readonly #folder = mkdtempSync(join(tmpdir(), 'airsplice-'));
  readonly #hub: ProcessPlace = emptyPlace('hub');
  readonly #workers: readonly ProcessPlace[];
  readonly #draining: DrainingWorkers;
  /** Sockets on their way to the hub. */
  readonly #post = new SocketPost();
  #hubPaths: HubPaths;
  /** Workers that are being started to take the place of others. */
  #next: readonly ManagedProcess[] = [];
  /** Numbers are not given twice. */
  #last = 0;
  /** How often processes were started again. */
  readonly #restarts: Record<ProcessRole, number> = { hub: 0, worker: 0 };
  #isStopping = false;
  #isRestarting = false;
  #onStarted: (() => void) | null = null;
  #onFailed: ((error: Error) => void) | null = null;

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
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

  /** New access logs: the old ones were moved away. */
  reopen(): void {
    for (const worker of this.#allWorkers()) worker.send({ type: 'reopen' });
  }

  /**
   * Replaces all processes, by the program as it is on the disk now. Rejects where another restart is under way, and where a new process does not
   * start or speaks another version of messages.ts: then the old ones go on. Resolves when the new ones serve; old workers still serve whom they have.
   */
  async restart(): Promise<void> {
    const { log } = this.#parts;
    if (this.#isRestarting || this.#isStopping || this.#onStarted !== null) {
      log.warn('a restart or a stop is under way: another one is not begun');
      throw new Error('a restart or a stop is under way');
    }
    this.#isRestarting = true;
    log.info('restarting');
    try {
      const next = await this.#startNext().catch((error: unknown) => {
        log.error({ err: error }, 'the restart has failed: the processes that ran go on');
        throw error;
      });
      // A new hub that ends is started again, and that is logged.
      await this.#replace(next.hub, next.workers);
      log.info('restarted');
    } finally {
      this.#isRestarting = false;
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
      boot: { source: this.#parts.source, number: ++this.#last, hub, offers },
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
      return;
    }
    this.#sayRestarts();
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
    } else if (message.type === 'drained') this.#draining.end(child);
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

  #makePaths(): HubPaths {
    const name = join(this.#folder, String(this.#last + 1));
    return { link: `${name}.link`, encoders: `${name}.encoders`, tapes: `${name}.tapes` };
  }
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
