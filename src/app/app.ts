/**
 * The composition root: builds every part from a configuration, wires them, starts them in order. The stop closes the ports, then ends
 * streams, watchers, requests and titles side by side, and access log and store last.
 * The audio's side is in hub.ts, the clients' in worker.ts. Between them data crosses against the flow in one place, wired here: what was committed
 * goes to the clients.
 */

import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import { SystemClock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { Output } from '../base/output.js';
import type { LoadedConfig } from '../config/load.js';
import { Feed } from '../feed/feed.js';
import { openLmdbStore } from '../store/lmdb.js';
import type { Store } from '../store/store.js';
import { openAccessLog } from './access-log.js';
import { Addresses, type AddressPorts } from './addresses.js';
import { Admissions, makePace } from './admissions.js';
import { type Core, makeCore } from './core.js';
import { makeFaces } from './faces.js';
import { Housekeeping } from './housekeeping.js';
import { Hub } from './hub.js';
import { observeHub } from './hub-metrics.js';
import { Metrics } from './metrics.js';
import type { Network } from './network.js';
import { waitForEnd, waitForFiles } from './stop-steps.js';
import { storeWatch, turnWatch } from './watches.js';
import { Worker } from './worker.js';
import { observeWorker } from './worker-metrics.js';

/** What is kept of the time to stop, at most, once connections and titles have been waited for. */
const LAST_STEPS_MS = 500;
/** The part of it that is the caller's. Access log and store get the rest, and what was not used before. */
const CALLER_SHARE = 0.5;
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
  const store = await openLmdbStore(resolve(config.data.folder), config.history, report, signal);
  return startWith(config, store, log, signal);
}

/** The same with a store that is open: it is closed at the stop, and where this rejects. */
export async function startWith(config: LoadedConfig, store: Store, log: Log, signal?: AbortSignal): Promise<App> {
  const built = await build(config, store, log, signal);
  const { clock, accessLog, hub, network, admissions, addresses, housekeeping, ready } = built;
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
    clock.stop();
    const files = { accessLog: accessLog?.close(), store: store.close() };
    const filesMs = endMs - performance.now() - lastMs * CALLER_SHARE;
    return [...errors, ...(await waitForFiles(filesMs, log, files))];
  };

  let ports: AddressPorts[];
  try {
    hub.start();
    ports = await addresses.listen();
  } catch (error) {
    await halt(FAILED_START_MS);
    throw error;
  }
  ready.isListening = true;
  let stopping: Promise<readonly unknown[]> | undefined;
  return {
    ports: ports.map(({ port }) => port),
    shoutcastPorts: ports.map(({ shoutcast }) => shoutcast),
    restrict: (connections) => network.guards.connections.restrict(connections),
    reopen: () => accessLog?.reopen(),
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
  /** For /readyz. */
  readonly ready: { isListening: boolean };
}

/** Where it rejects nothing is left running, and the store is closed. */
async function build(config: LoadedConfig, store: Store, log: Log, signal?: AbortSignal): Promise<Built> {
  const clock = new SystemClock();
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
  const faces = makeFaces(config);
  const hub = new Hub(core, { store, sequence: feed.sequence, faces });
  const { engine, moments, titles } = hub;
  ends.push(() => titles.close());
  const channels = new Map([...hub.channels].map(([key, { served }]) => [key, served]));
  const pace = makePace(core);
  const worker: Worker = new Worker(core, {
    ...{ feed, faces, channels, engine, moments, history: store, accessLog, pace },
    onPush: (channel) => titles.check(channel),
    onProven: (encoder) => admissions.take(encoder),
  });
  const { network, readers, sessions, verdicts } = worker;
  const places = new Map([...hub.channels].map(([key, { encoder }]) => [key, encoder]));
  const onAdmitted = (socket: Socket) => network.guards.connections.admit(socket);
  const admissions = new Admissions(core, places, { pace, onAdmitted, onVerdict: verdicts.onVerdict });
  readers.restore(engine);
  await hub.restore({
    onChange: (channel, change, view) => readers.deliver(channel, change, view),
    onLate: (channel, late) => sessions.late(channel, late),
  });

  const metrics = new Metrics(clock);
  observeHub(metrics.registry, { channels: hub.channels, titles });
  observeWorker(metrics.registry, worker);
  const housekeeping = new Housekeeping(clock, [
    (nowMs) => worker.tidy(nowMs),
    (nowMs) => hub.tidy(nowMs),
    () => metrics.turn(),
    () => accessLog?.flush(),
    turnWatch(clock.watchdog, log),
    storeWatch(store, log),
  ]);
  const ready = { isListening: false };
  await network.ready({
    get ready() {
      return ready.isListening && store.fault() === null;
    },
    metricsType: metrics.registry.contentType,
    metrics: () => metrics.registry.text(),
  });
  const addresses = new Addresses(config, network, clock, log);
  return { clock, accessLog, hub, network, admissions, addresses, housekeeping, ready };
}
