/**
 * The composition root: builds every part from a configuration, wires them, starts them in order. The stop closes the ports, then ends
 * streams, watchers, requests and titles side by side, and access log and store last.
 * One process is a hub (hub-side.ts) and a worker (client-side.ts) without a wire between them.
 */

import { SystemClock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { LoadedConfig } from '../config/load.js';
import { Feed } from '../feed/feed.js';
import { openLmdbStore } from '../store/lmdb.js';
import type { Store } from '../store/store.js';
import { type Core, makeCore } from './core.js';
import { Faces } from './faces.js';
import { Housekeeping } from './housekeeping.js';
import { sourcesOf } from './hub/hub-hls.js';
import { HubSide } from './hub/hub-side.js';
import { Metrics } from './metrics/metrics.js';
import type { ReloadSteps } from './reload.js';
import type { ReloadResults } from './reload-results.js';
import { waitForEnd, waitForFiles } from './stop-steps.js';
import { openAccessLog } from './worker/access-log.js';
import { ClientSide } from './worker/client-side.js';

/** The part of the time to stop that is reserved, at most, for the steps after connections and titles. */
const LAST_STEPS_MS = 500;
/** The share of that for the caller. Access log and store get the rest, and any unused time. */
const CALLER_SHARE = 0.5;
/** Tasks of each second count as overdue past this. */
const OVERDUE_MS = 5000;
/** Time to stop after a failed start, which may have accepted connections already. */
const FAILED_START_MS = 1000;

export interface App {
  /** The port of each configured address, in order. */
  readonly ports: readonly number[];
  /** The port beside each of them for SHOUTcast's encoders, where there is one. */
  readonly shoutcastPorts: readonly (number | undefined)[];
  /** Takes no more connections than these, as the process can have no more. */
  restrict(connections: number): void;
  /** Begins a new access log: the old one was moved away. */
  reopen(): void;
  /** The steps of a reload in this process. */
  readonly steps: ReloadSteps;
  /** What became of reloads, for the metrics. */
  onReloads(results: ReloadResults): void;
  /** A copy of the store, beside it; resolves with its name in the data folder. */
  backup(): Promise<string>;
  /** What is wrong, in a few words; null: its clock, by which everything plays, runs, and the tasks of each second are done. */
  fault(): string | null;
  /**
   * Drains: not ready, no new connections; streams end with a whole frame, watchers get 1001, pushes their answer, incomplete ones 503. Idempotent.
   * Resolves when all have ended, or `graceSeconds` (`graceMs` if less) are over: the rest is logged. @returns why something could not be closed
   */
  stop(graceMs?: number): Promise<readonly unknown[]>;
}

export interface StartOptions {
  /** Stops it while the store is checked, which may take long; the start rejects then. */
  readonly signal?: AbortSignal;
  readonly clock?: SystemClock;
  /** For operators who ask by HTTP: reads the configuration again; resolves with what that changed, rejects with why it was not put in force. */
  reload?(): Promise<string>;
}

/** Builds and starts everything; rejects when the data folder is in use or a port cannot be had, and leaves nothing running. */
export async function startApp(config: LoadedConfig, log: Log, options: StartOptions = {}): Promise<App> {
  const report = (error: Error) => log.error({ err: error }, 'the store has a problem');
  const { signal, clock = new SystemClock() } = options;
  const store = await openLmdbStore(config.data.folder, config.history, report, signal, clock).catch((error) => {
    clock.stop();
    throw error;
  });
  return startWith(config, store, log, { ...options, clock });
}

/** The same with an open store, which is closed at the stop, or if this rejects. */
export async function startWith(
  config: LoadedConfig,
  store: Store,
  log: Log,
  options: StartOptions = {},
): Promise<App> {
  const { clock, clients, side, housekeeping, steps } = await build(config, store, log, options);
  const { accessLog, addresses, worker } = clients;
  const halt = async (limitMs: number): Promise<readonly unknown[]> => {
    const endMs = performance.now() + limitMs;
    const lastMs = Math.min(LAST_STEPS_MS, limitMs / 2);
    // First of all, so that no encoder is admitted only to be disconnected.
    const drained = clients.drain();
    const directories = side.stop();
    const errors = await waitForEnd(limitMs - lastMs, log, {
      titles: side.hub.titles.close(),
      directories,
      ...drained,
    });
    worker.network.terminate();
    housekeeping.stop();
    clock.stop();
    clients.counting.last();
    const files = { accessLog: accessLog?.close(), hls: side.hls.close(), store: side.close() };
    const filesMs = endMs - performance.now() - lastMs * CALLER_SHARE;
    return [...errors, ...(await waitForFiles(filesMs, log, files))];
  };

  try {
    side.hub.start();
    await clients.listen();
  } catch (error) {
    await halt(FAILED_START_MS);
    throw error;
  }
  let stopping: Promise<readonly unknown[]> | undefined;
  return {
    get ports() {
      return addresses.ports.map(({ port }) => port);
    },
    get shoutcastPorts() {
      return addresses.ports.map(({ shoutcast }) => shoutcast);
    },
    steps,
    onReloads: (results) => {
      side.reloads = results;
    },
    restrict: (connections) => worker.network.guards.connections.restrict(connections),
    reopen: () => accessLog?.reopen(),
    backup: () => side.backup(),
    fault: () => (clock.now() - housekeeping.turnedMs < OVERDUE_MS ? null : 'the event loop is stalled'),
    stop: (graceMs = Number.POSITIVE_INFINITY) =>
      (stopping ??= halt(Math.min(graceMs, config.shutdown.graceSeconds * 1000))),
  };
}

/** All parts, wired; nothing listens or plays yet. */
interface Built {
  readonly clock: SystemClock;
  readonly clients: ClientSide;
  readonly side: HubSide;
  readonly housekeeping: Housekeeping;
  readonly steps: ReloadSteps;
}

/** If it rejects, nothing is left running, and the store is closed. */
async function build(
  config: LoadedConfig,
  store: Store,
  log: Log,
  { signal, clock = new SystemClock(), reload = noFile }: StartOptions,
): Promise<Built> {
  const ends: (() => unknown)[] = [() => clock.stop()];
  try {
    signal?.throwIfAborted();
    return await assemble(makeCore(config, clock, log), { clock, store, reload }, ends);
  } catch (error) {
    const ended = Promise.all(ends.map((end) => end())).finally(() => store.close());
    await waitForFiles(FAILED_START_MS, log, { store: ended });
    throw error;
  }
}

const noFile = () => Promise.reject(new Error('this server has no configuration file to reload'));

/** @param ends gets what must be ended if a later part fails */
async function assemble(
  core: Core,
  { clock, store, reload }: Required<Omit<StartOptions, 'signal'>> & { readonly store: Store },
  ends: (() => unknown)[],
): Promise<Built> {
  const { config, repeats } = core;
  const accessLog = await openAccessLog(config, repeats);
  ends.push(() => accessLog?.close());

  const feed = new Feed();
  const faces = new Faces(config);
  const metrics = new Metrics(clock);
  const side: HubSide = new HubSide(core, {
    store,
    sequence: feed.sequence,
    faces,
    metrics,
    clients: () => clients,
    shared: () => null,
  });
  const { hub, hls, pace } = side;
  ends.push(() => hub.titles.close());
  const clients: ClientSide = new ClientSide(core, {
    clock,
    metrics,
    onFigures: (figures) => side.recorder.add(figures, core.process),
    queries: {
      hub: (question, ask) => side.admin.answer(question, ask),
      all: async (question, ask) => [clients.worker.admin.answer(question, ask)],
    },
    reload,
    feed,
    faces,
    channels: hub.served,
    states: hub.engine,
    decisions: hub.decider,
    moments: hub.moments,
    history: store,
    accessLog,
    hls,
    pace,
    onProven: (encoder) => side.admissions.take(encoder),
  });
  await side.join();
  await clients.counting.ready();
  clients.restore();
  await side.restore();

  const housekeeping = new Housekeeping(clock, [...clients.tasks, ...side.tasks]);
  await clients.prepare({ isReady: () => store.fault() === null, metrics: () => metrics.registry.text() });
  hls.refresh(sourcesOf(hub.served.values()));
  return { clock, clients, side, housekeeping, steps: clients.steps(() => hub.refresh()) };
}
