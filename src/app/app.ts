/**
 * The composition root: builds every part from a configuration, wires them, starts them in order. The stop closes the ports, then ends
 * streams, watchers, requests and titles side by side, and access log and store last.
 * The two places where data crosses against the flow are wired here: a title onto the tape (titles/service.ts, "deliver"), and "written" and
 * "heard" from listeners to the feed (listener/listener-feed.ts).
 */

import { resolve } from 'node:path';
import { SystemClock } from '../base/clock.js';
import { type Log, Repeats } from '../base/log.js';
import { Output } from '../base/output.js';
import { RefusalLog } from '../base/refusal-log.js';
import { SecretMask } from '../base/secret-mask.js';
import type { Channel } from '../channel/channel.js';
import type { LoadedConfig } from '../config/load.js';
import { Feed } from '../feed/feed.js';
import { Audience } from '../listener/audience.js';
import { HeardReports } from '../listener/heard-reports.js';
import { ListenerFeed } from '../listener/listener-feed.js';
import { ListenerStats } from '../listener/listener-stats.js';
import { Sessions } from '../listener/sessions.js';
import { openLmdbStore } from '../store/lmdb.js';
import type { Store } from '../store/store.js';
import type { TitleService } from '../titles/service.js';
import { Addresses, type AddressPorts } from './addresses.js';
import { makeChannels } from './channels.js';
import type { Core } from './core.js';
import { Housekeeping } from './housekeeping.js';
import { Metrics } from './metrics.js';
import { mountStatuses } from './mount-statuses.js';
import { Network } from './network.js';
import { waitForEnd, waitForFiles } from './stop-steps.js';
import { makeTitles } from './titles.js';
import { storeWatch, turnWatch } from './watches.js';

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
  const { clock, accessLog, channels, titles, network, addresses, housekeeping, ready } = built;
  const halt = async (limitMs: number): Promise<readonly unknown[]> => {
    const endMs = performance.now() + limitMs;
    ready.isListening = false;
    const lastMs = Math.min(LAST_STEPS_MS, limitMs / 2);
    // First of all: no encoder is admitted only to be cut.
    const connections = addresses.close().then(() => network.streams.settled());
    network.drain();
    for (const channel of channels.values()) channel.stop();
    const steps = { titles: titles.close(), requests: network.close(), connections };
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
    for (const channel of channels.values()) {
      channel.start({ onTitle: titles.streamTitle, onSourceChanged: titles.sourceChanged });
    }
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
  readonly channels: ReadonlyMap<string, Channel>;
  readonly titles: TitleService;
  readonly network: Network;
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

function makeCore(config: LoadedConfig, clock: SystemClock, log: Log): Core {
  const repeats = new Repeats(log);
  return {
    config,
    clock,
    log,
    repeats,
    refusals: new RefusalLog(log, {
      perSecond: config.log.refusalsPerSecond,
      remembered: config.limits.addressesRemembered,
    }),
    secrets: new SecretMask(config.log.secretNames),
    onError: (error) => repeats.warn('internal', { err: error }, 'internal error'),
  };
}

/** @param ends gets what has to be ended where a later part fails */
async function assemble(core: Core, clock: SystemClock, store: Store, ends: (() => unknown)[]): Promise<Built> {
  const { config, log, repeats } = core;
  const accessLog = await openAccessLog(config, repeats);
  ends.push(() => accessLog?.close());

  const feed = new Feed();
  const listenerFeed = new ListenerFeed(feed);
  const sessions = new Sessions(clock, listenerFeed, {
    keepMs: config.sessions.keepSeconds * 1000,
    max: config.sessions.max,
  });
  const reports = new HeardReports(sessions, clock, config.sessions.reportSeconds * 1000);
  const channels = makeChannels(config, feed, { clock, log });
  const audience = new Audience(clock, sessions);
  const titles = makeTitles(core, store, { feed, listenerFeed, sessions, audience, channels });
  ends.push(() => titles.close());
  await titles.restore();

  const listenerStats = new ListenerStats(clock, {
    togetherMs: config.sessions.togetherSeconds * 1000,
    accessLog,
    anonymize: config.accessLog.anonymize,
    textCharacters: config.accessLog.textCharacters,
    secrets: core.secrets,
  });
  const statuses = mountStatuses(channels, { feed, audience, listenerStats }, config);
  const parts = { channels, titles, feed, store, sessions, reports, audience, listenerStats, statuses };
  const network = new Network(core, parts);
  const metrics = new Metrics({
    clock,
    channels,
    audience,
    listenerStats,
    sessions,
    reports,
    titles,
    requests: network.requests,
    connections: network.guards.connections,
    watchers: network.readers.watch,
    secrets: network.guards.gate,
  });
  const silenceMs = config.streams.silenceSeconds * 1000;
  const housekeeping = new Housekeeping({ clock, channels, audience, sessions, titles, silenceMs }, [
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
    metricsType: metrics.contentType,
    metrics: () => metrics.text(),
  });
  const addresses = new Addresses(config, network, clock, log);
  return { clock, accessLog, channels, titles, network, addresses, housekeeping, ready };
}

/** Null: none is configured. */
async function openAccessLog({ accessLog }: LoadedConfig, repeats: Repeats): Promise<Output | null> {
  const { file, bufferBytes } = accessLog;
  if (file === '') return null;
  const onFailed = (error: unknown) =>
    repeats.warn('access log', { err: error }, 'the access log could not be written');
  return Output.to(file, { bufferBytes, onFailed });
}
