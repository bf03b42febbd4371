/**
 * The composition root: builds every part from a configuration, wires them, starts them in order and stops them in reverse.
 * The two places where data crosses against the flow are wired here: a title onto the tape (titles/service.ts, "deliver"), and "written" and
 * "heard" from listeners to the feed (listener/listener-feed.ts).
 */

import { resolve } from 'node:path';
import { SystemClock } from '../base/clock.js';
import { type Log, Repeats } from '../base/log.js';
import { Output } from '../base/output.js';
import { RefusalLog } from '../base/refusal-log.js';
import { SecretMask } from '../base/secret-mask.js';
import { Channel } from '../channel/channel.js';
import type { LoadedConfig } from '../config/load.js';
import { Feed } from '../feed/feed.js';
import { Audience } from '../listener/audience.js';
import { Census } from '../listener/census.js';
import { Guests } from '../listener/guests.js';
import { ListenerFeed } from '../listener/listener-feed.js';
import { Sessions } from '../listener/sessions.js';
import { Rate } from '../net/rate.js';
import { openLmdbStore } from '../store/lmdb.js';
import type { Store } from '../store/store.js';
import { timed } from '../store/timed.js';
import { LocalEngine } from '../titles/local.js';
import { TitleService } from '../titles/service.js';
import { stamped } from '../titles/stamped.js';
import { Addresses, type AddressPorts } from './addresses.js';
import { Housekeeping } from './housekeeping.js';
import { Metrics } from './metrics.js';
import { Network } from './network.js';

/** What is kept of the time to stop for the last steps, once connections have been waited for. */
const LAST_STEPS_MS = 500;

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
   * Drains: not ready any more, streams end with a whole frame, watchers hear 1001, pushes under way are committed. Resolves when
   * all connections have ended or `graceSeconds` are over, whatever is still open. Idempotent.
   * @param graceMs less than these
   */
  stop(graceMs?: number): Promise<void>;
}

/**
 * Builds and starts everything; rejects when the data folder is in use or a port cannot be had, and leaves nothing running.
 * @param signal to stop it while the store is looked through, which may take long; rejects then
 */
export async function startApp(config: LoadedConfig, log: Log, signal?: AbortSignal): Promise<App> {
  const report = (error: Error) => log.error({ err: error }, 'the store needs a look');
  const store = await openLmdbStore(resolve(config.data.folder), config.history, report, signal);
  try {
    signal?.throwIfAborted();
    return await startWith(config, store, log);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function startWith(config: LoadedConfig, store: Store, log: Log): Promise<App> {
  const repeats = new Repeats(log);
  const { file, bufferBytes } = config.accessLog;
  const failed = (error: unknown) => repeats.warn('access log', { err: error }, 'the access log could not be written');
  const accessLog = file === '' ? null : await Output.to(file, { bufferBytes, onFailed: failed });
  const clock = new SystemClock();
  clock.watchdog.longMs = config.log.longTurnMs;
  const report = (error: unknown) => repeats.warn('internal', { err: error }, 'internal error');
  const feed = new Feed();
  const programmes = new Map<string, Channel>();
  const watched = timed(store, (channel, tookMs) =>
    repeats.warn('slow save', { channel, tookMs }, 'the disk of the data folder is slow: titles wait for it'),
  );
  const unsaved = (error: unknown) =>
    repeats.warn('unsaved', { err: error }, 'a title could not be saved: it was refused');
  const local = new LocalEngine(watched, (channel, change) => door.deliver(channel, change), unsaved);
  const engine = stamped(local, feed.sequence, () => clock.wallMs());
  const listenerFeed = new ListenerFeed(feed);
  const sessions = new Sessions(clock, listenerFeed, {
    keepMs: config.sessions.keepSeconds * 1000,
    max: config.sessions.max,
  });
  const door = new TitleService({
    ...{ engine, feed, listenerFeed, sessions, clock, log, channels: programmes, onError: report },
    rules: config.titles,
    heldPushes: config.metadata.heldPushes,
    textBytes: config.limits.textBytes,
    titleRate: new Rate(clock, {
      perMinute: config.limits.pushesPerMinute,
      burst: config.limits.pushBurst,
      // Each of its encoder and its upstreams.
      remembered: 2 * config.order.flatMap(({ channels }) => channels).length,
    }),
  });
  for (const { station, channels } of config.order) {
    const { timezone, channels: configs } = config.stations[station]!;
    const faces = channels.map((key) => ({ key, name: configs[key]!.name, station, timezone }));
    feed.addStation(station, faces);
    for (const key of channels) programmes.set(key, new Channel(key, configs[key]!, config, { clock, log }));
  }
  await door.restore();

  const census = new Census(clock, config.sessions.togetherSeconds * 1000);
  const secrets = new SecretMask(config.log.secretNames);
  const guests = new Guests(census, accessLog, clock, { ...config.accessLog, secrets });
  const audience = new Audience(clock, sessions, {
    onWanted: (channel, wanted) => programmes.get(channel.key)!.switch.want(wanted),
    onEnded: (listener, guest, ending, lastedMs) => {
      guests.leave(guest, listener.bytes, lastedMs);
      log.debug(
        { channel: listener.channel, ending, seconds: Math.round(lastedMs / 1000), bytes: listener.bytes },
        'listener ended',
      );
    },
  });
  const silenceMs = config.streams.silenceSeconds * 1000;
  const keeper = new Housekeeping({
    clock,
    channels: programmes,
    audience,
    listenerStats: guests,
    sessions,
    titles: door,
    silenceMs,
  });
  const metrics: Metrics = new Metrics(
    keeper.figures(
      () => network.watchers,
      () => network.connections,
      () => network.secretsWaiting,
    ),
    clock.lateMicros,
    clock.watchdog,
  );
  keeper.everySecond(() => metrics.turn());
  keeper.everySecond(() => accessLog?.flush());
  keeper.everySecond(() => {
    const turn = clock.watchdog.take();
    if (turn !== null) log.warn({ ...turn, tookMs: Math.round(turn.tookMs) }, 'the event loop was held for too long');
  });
  keeper.everySecond(storeWatch(store, log));

  const refusals = new RefusalLog(log, {
    perSecond: config.log.refusalsPerSecond,
    remembered: config.limits.addressesRemembered,
  });
  let ready = false;
  const network = new Network({
    ...{
      config,
      clock,
      log,
      refusals,
      secrets,
      store,
      feed,
      sessions,
      audience,
      listenerStats: guests,
      titles: door,
      channels: programmes,
      metrics,
      onError: report,
    },
    versionOf: (channel) => engine.state(channel).version,
    isReady: () => ready && store.fault() === null,
  });
  await network.ready();
  const addresses = new Addresses(config, network, clock, log);
  const output = { onTitle: door.streamTitle, onSourceChanged: door.sourceChanged };
  for (const channel of programmes.values()) channel.start(output);

  const halt = async (graceMs: number): Promise<void> => {
    ready = false;
    network.drain();
    for (const channel of programmes.values()) channel.stop();
    await door.close();
    await engine.close();
    const gone = addresses.close().then(() => network.settled());
    await network.close();
    await Promise.race([gone, new Promise((done) => setTimeout(done, graceMs).unref())]);
    network.terminate();
    keeper.stop();
    clock.stop();
    await accessLog?.close();
    await store.close();
  };

  let ports: AddressPorts[];
  try {
    ports = await addresses.listen();
  } catch (error) {
    await halt(0);
    throw error;
  }
  ready = true;
  let stopping: Promise<void> | undefined;
  return {
    ports: ports.map(({ port }) => port),
    shoutcastPorts: ports.map(({ shoutcast }) => shoutcast),
    restrict: (connections) => network.connections.restrict(connections),
    reopen: () => accessLog?.reopen(),
    stop: (graceMs = Number.POSITIVE_INFINITY) => {
      const allMs = Math.min(graceMs, config.shutdown.graceSeconds * 1000);
      return (stopping ??= halt(Math.max(0, allMs - LAST_STEPS_MS)));
    },
  };
}

/** Tells when the store is not where it was, and when it is again. */
function storeWatch(store: Store, log: Log): () => void {
  let last: string | null = null;
  return () => {
    const fault = store.fault();
    if (fault !== last && fault !== null) log.error({ fault }, 'the store cannot be used: titles are refused');
    if (fault === null && last !== null) log.info('the store can be used again');
    last = fault;
  };
}
