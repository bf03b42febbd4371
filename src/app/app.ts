/**
 * The composition root: builds every part from a configuration, wires them, starts them in order. The stop closes the ports, then ends
 * streams, watchers, requests and titles side by side, and access log and store last.
 * The audio's side is in hub.ts, the clients' in worker.ts. Between them data crosses against the flow in one place, wired here: what was committed
 * goes to the clients.
 */

import type { AdminQueries } from '../admin/admin-reports.js';
import type { Alerts } from '../alerts/alerts.js';
import { SystemClock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { Output } from '../base/output.js';
import { measured } from '../base/watchdog.js';
import type { LoadedConfig } from '../config/load.js';
import { Feed } from '../feed/feed.js';
import { openLmdbStore } from '../store/lmdb.js';
import type { Store } from '../store/store.js';
import { Addresses } from './addresses/addresses.js';
import { type Core, makeCore } from './core.js';
import { Faces } from './faces.js';
import { Housekeeping } from './housekeeping.js';
import { type Admissions, makePace } from './hub/admissions.js';
import type { Hub } from './hub/hub.js';
import { HubSide } from './hub/hub-side.js';
import { ListenerCounting } from './hub/statistics.js';
import { Metrics } from './metrics/metrics.js';
import { observeWorker } from './metrics/worker-metrics.js';
import { Reload } from './reload.js';
import { waitForEnd, waitForFiles } from './stop-steps.js';
import { openAccessLog } from './worker/access-log.js';
import type { Network } from './worker/network.js';
import { Worker } from './worker/worker.js';

/** What is kept of the time to stop, at most, once connections and titles have been waited for. */
const LAST_STEPS_MS = 500;
/** The part of it that is the caller's. Access log and store get the rest, and what was not used before. */
const CALLER_SHARE = 0.5;
/** What is due each second is not done in time when it is later than this. */
const OVERDUE_MS = 5000;
/** For the end of a start that has failed: it may have accepted connections already. */
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
  /** Another configuration: see Reload. */
  readonly reload: Reload;
  /** A copy of the store, beside it; resolves with its name in the data folder. */
  backup(): Promise<string>;
  /** What is wrong with it, in a few words; null: its clock turns, by which all is played, and what is due each second is done. */
  ailment(): string | null;
  /**
   * Drains: not ready any more, no connections are accepted, streams end with a whole frame, watchers hear 1001. A push that the engine
   * has already is committed and answered, one whose body is still coming gets 503. Resolves when all connections have ended, and before
   * `graceSeconds` are over in any case: what is still open, or hangs, is logged and left. Idempotent.
   * @param graceMs less than these
   * @returns why something could not be closed
   */
  stop(graceMs?: number): Promise<readonly unknown[]>;
}

/**
 * Builds and starts everything; rejects when the data folder is in use or a port cannot be had, and leaves nothing running.
 * @param signal to stop it while the store is looked through, which may take long; rejects then
 */
export async function startApp(config: LoadedConfig, log: Log, signal?: AbortSignal): Promise<App> {
  const report = (error: Error) => log.error({ err: error }, 'the store has a problem');
  const clock = new SystemClock();
  const store = await openLmdbStore(config.data.folder, config.history, report, signal, clock).catch((error) => {
    clock.stop();
    throw error;
  });
  return startWith(config, store, log, signal, clock);
}

/** The same with a store that is open: it is closed at the stop, and where this rejects. */
export async function startWith(
  config: LoadedConfig,
  store: Store,
  log: Log,
  signal?: AbortSignal,
  systemClock = new SystemClock(),
): Promise<App> {
  const built = await build(config, store, log, systemClock, signal);
  const { clock, accessLog, hub, network, admissions, addresses, housekeeping, alerts, ready, reload, closeStore } =
    built;
  const halt = async (limitMs: number): Promise<readonly unknown[]> => {
    const endMs = performance.now() + limitMs;
    ready.isListening = false;
    const lastMs = Math.min(LAST_STEPS_MS, limitMs / 2);
    // First of all: no encoder is admitted only to be cut.
    const connections = addresses.close().then(() => network.streams.settled());
    network.drain();
    admissions.close();
    hub.stop();
    const steps = { titles: hub.titles.close(), requests: network.close(), connections };
    const errors = await waitForEnd(limitMs - lastMs, log, steps);
    network.terminate();
    housekeeping.stop();
    alerts.close();
    clock.stop();
    const files = { accessLog: accessLog?.close(), store: closeStore() };
    const filesMs = endMs - performance.now() - lastMs * CALLER_SHARE;
    return [...errors, ...(await waitForFiles(filesMs, log, files))];
  };

  try {
    hub.start();
    await addresses.listen();
  } catch (error) {
    await halt(FAILED_START_MS);
    throw error;
  }
  ready.isListening = true;
  let stopping: Promise<readonly unknown[]> | undefined;
  return {
    get ports() {
      return addresses.ports.map(({ port }) => port);
    },
    get shoutcastPorts() {
      return addresses.ports.map(({ shoutcast }) => shoutcast);
    },
    reload,
    restrict: (connections) => network.guards.connections.restrict(connections),
    reopen: () => accessLog?.reopen(),
    backup: async () => {
      if (store.backup === undefined) throw new Error('this store has no backup');
      return await store.backup();
    },
    ailment: () => (clock.now() - housekeeping.turnedMs < OVERDUE_MS ? null : 'nothing is done in time'),
    stop: (graceMs = Number.POSITIVE_INFINITY) =>
      (stopping ??= halt(Math.min(graceMs, config.shutdown.graceSeconds * 1000))),
  };
}

/** All parts, wired; nothing listens or plays yet. */
interface Built {
  readonly clock: SystemClock;
  readonly accessLog: Output | null;
  readonly hub: Hub;
  readonly network: Network;
  readonly admissions: Admissions;
  readonly addresses: Addresses;
  readonly housekeeping: Housekeeping;
  readonly reload: Reload;
  readonly alerts: Alerts;
  /** With what was counted of listeners until now. */
  closeStore(): Promise<void>;
  /** For /readyz. */
  readonly ready: { isListening: boolean };
}

/** Where it rejects nothing is left running, and the store is closed. */
async function build(
  config: LoadedConfig,
  store: Store,
  log: Log,
  clock: SystemClock,
  signal?: AbortSignal,
): Promise<Built> {
  clock.watchdog.longMs = config.log.longTurnMs;
  const ends: (() => unknown)[] = [() => clock.stop()];
  try {
    signal?.throwIfAborted();
    return await assemble(makeCore(config, clock, log), clock, store, ends);
  } catch (error) {
    const ended = Promise.all(ends.map((end) => end())).finally(() => store.close());
    await waitForFiles(FAILED_START_MS, log, { store: ended });
    throw error;
  }
}

/** @param ends gets what has to be ended where a later part fails */
async function assemble(core: Core, clock: SystemClock, store: Store, ends: (() => unknown)[]): Promise<Built> {
  const { config, log, repeats } = core;
  const accessLog = await openAccessLog(config, repeats);
  ends.push(() => accessLog?.close());

  const feed = new Feed();
  const faces = new Faces(config);
  const metrics = new Metrics(clock);
  const pace = makePace(core);
  const counting = new ListenerCounting(core, faces.byChannel, (figures) => side.recorder.add(figures, core.process));
  const side: HubSide = new HubSide(core, {
    store,
    sequence: feed.sequence,
    faces,
    metrics,
    pace,
    onSalts: (salts) => counting.collector.setSalts(salts),
    onAdminState: (state) => worker.admin.set(state),
    used: async () => [worker.admin.answer('used', null)],
    onAdmitted: (socket) => worker.network.guards.connections.admit(socket),
    onVerdict: (verdict) => worker.verdicts.onVerdict(verdict),
    counts: () => ({
      connections: worker.network.guards.connections.count,
      listeners: worker.audience.count,
      watchers: worker.network.readers.watch.count,
    }),
    listenersOf: (channel) => hub.channels.get(channel)!.served.audio.listeners,
  });
  const { hub, admissions, alerts } = side;
  const { engine, moments, titles } = hub;
  ends.push(() => titles.close());
  const channels = new Map([...hub.channels].map(([key, { served }]) => [key, served]));
  const queries: AdminQueries = {
    hub: (question, ask) => side.admin.answer(question, ask),
    all: async (question, ask) => [worker.admin.answer(question, ask)],
  };
  const worker: Worker = new Worker(core, {
    queries,
    reload: () => reload.onAsked(),
    feed,
    faces,
    channels,
    states: engine,
    decisions: hub.decider,
    moments,
    history: store,
    accessLog,
    pace,
    onJoin: counting.observe,
    onProven: (encoder) => admissions.take(encoder),
  });
  const { network, readers, sessions } = worker;
  await side.join();
  await counting.ready();
  readers.restore(engine);
  for (const channel of channels.keys()) counting.setTitle(channel, engine.state(channel));
  await side.restore({
    onChange: (channel, change, view) => {
      counting.setTitle(channel, change.state);
      readers.deliver(channel, change, view);
    },
    onLate: (channel, late) => sessions.late(channel, late),
  });

  observeWorker(metrics.registry, worker);
  const housekeeping = new Housekeeping(clock, [
    (nowMs) => worker.tidy(nowMs),
    () => measured('statistics', () => counting.tidy()),
    ...side.tasks,
    () => accessLog?.flush(),
  ]);
  const ready = { isListening: false };
  await network.ready({
    get ready() {
      return ready.isListening && store.fault() === null;
    },
    metricsType: metrics.registry.contentType,
    metrics: () => metrics.registry.text(),
  });
  const addresses = new Addresses({ config, network, clock, log });
  const reload: Reload = new Reload({
    core,
    addresses,
    faces,
    hub,
    worker,
    served: channels,
    onAdded: (keys) => {
      for (const key of keys) counting.setTitle(key, engine.state(key));
    },
  });
  reload.observe(metrics.registry);
  const closeStore = () => {
    counting.last();
    return side.close();
  };
  return { clock, accessLog, hub, network, admissions, addresses, housekeeping, alerts, ready, reload, closeStore };
}
