/** The hub as a process of its own: store, titles, sources and tapes, and the links of the workers. Nothing that a stranger says comes here. */

import net, { type Socket } from 'node:net';
import { makeCore } from '../app/core.js';
import { Faces } from '../app/faces.js';
import { Housekeeping } from '../app/housekeeping.js';
import { makePace } from '../app/hub/admissions.js';
import { makeSharedTapes } from '../app/hub/hub-cluster.js';
import { HubConnections } from '../app/hub/hub-connections.js';
import { hlsOfChannels, makeHls, sourcesOf } from '../app/hub/hub-hls.js';
import { HubSide } from '../app/hub/hub-side.js';
import { observeProcesses } from '../app/metrics/hub-metrics.js';
import { KeptMetrics } from '../app/metrics/kept-metrics.js';
import { Metrics } from '../app/metrics/metrics.js';
import { MetricRegistry } from '../app/metrics/registry.js';
import { ENCODER_CONNECTIONS } from '../app/metrics/worker-metrics.js';
import { waitForEnd, waitForFiles } from '../app/stop-steps.js';
import { EncoderVerdicts } from '../app/worker/encoder-verdicts.js';
import { lastRefusals, linesOf } from '../app/worker/process-admin.js';
import { SystemClock } from '../base/clock.js';
import { LISTENERS_OF_CHANNELS, type Mount } from '../channel/mount.js';
import type { SharedTapes } from '../cluster/tapes/shared-tapes.js';
import { Sequence } from '../feed/sequence.js';
import type { ProvenEncoder } from '../http/ingest/proven.js';
import { HubLinks } from '../link/hub-links.js';
import { TapeNames } from '../link/tapes/tape-names.js';
import { LINK_VERSION, OtherVersion } from '../link/wire/link-version.js';
import { takeOver } from '../net/front/handover.js';
import { openLmdbStore } from '../store/lmdb.js';
import type { ChildParts, ChildWork } from './child-work.js';
import { EncoderPipeServer } from './encoder-pipe.js';
import { readEncoder } from './encoder-schema.js';
import { listen } from './listen.js';
import { STEPS_VERSION, type ToChild } from './messages.js';
import { ChildReloads } from './reload/child-reloads.js';
import { hubReload } from './reload/hub-reload.js';
import { handOver } from './restart/hub-handover.js';
import { HubReturns, takeConnection } from './restart/hub-returns.js';
import { leave } from './restart/leaving.js';

/** Keys by which a process may count, at most: for each connection (by address), for each channel, and others. */
const [KEYS_OF_CONNECTION, KEYS_OF_CHANNEL, OTHER_KEYS] = [8, 1000, 10_000];
/** What is left for the store, once titles and encoders have been waited for. */
const STORE_MS = 500;

/** Starts it; resolves when workers can come. Rejects when the data folder is in use, or a source cannot be made. */
export async function startHub({ boot, config, opened, inbox, send }: ChildParts): Promise<ChildWork> {
  const { log } = opened;
  const clock = new SystemClock();
  clock.watchdog.longMs = config.log.longTurnMs;
  const core = makeCore(config, clock, log, boot.number);
  const onLinkError = (error: unknown) => {
    if (!(error instanceof OtherVersion)) core.onError(error);
    else log.warn({ version: error.version, ownVersion: LINK_VERSION }, `${error.message}: it is refused`);
  };
  const faces = new Faces(config);
  const { without = [] } = boot;
  const returns = new HubReturns(boot.hub.tapes, {
    clock,
    without,
    onError: onLinkError,
    // Offers come before there are channels.
    has: (channel) => faces.byChannel.has(channel),
    mostLagMs: () => config.streams.lagSeconds * 1000,
    onTakes: (channel) => send({ type: 'takes', channel }),
  });
  for (const channel of without) {
    log.error(
      { channel },
      'the hub ended twice within a minute while it took this tape back: the channel begins a new one',
    );
  }
  const waiting = new HubMessages(inbox);
  await returns.listen();
  send({ type: boot.offers === null ? 'standby' : 'taking' });
  const offers = boot.offers ?? (await waiting.go());
  const onStoreError = (error: Error) => log.error({ err: error }, 'the store has a problem');
  const store = await openLmdbStore(config.data.folder, config.history, onStoreError, undefined, clock);
  const sequence = new Sequence();
  const metrics = new Metrics(clock, 'hub');
  const mounts = new Map<string, Mount>();
  const verdicts = new EncoderVerdicts(core, mounts);
  let shared: SharedTapes | null = null;
  const side = new HubSide(core, {
    store,
    sequence,
    faces,
    metrics,
    pace: makePace(core),
    fits: (change) => links.fits(change),
    shared: () => shared,
    isOwning: (channel) => shared?.isOwning(channel),
    onBell: () => shared?.poke(),
    onTimeMoved: () => links.shareTime(),
    onSalts: (salts) => links.setSalts(salts),
    onAdminState: (state) => links.setAdminState(state),
    used: async () => (await links.everywhere({ question: 'used', ask: null })) as never,
    onAdmitted: () => undefined,
    onVerdict: verdicts.onVerdict,
    counts: () => {
      // What this process itself has of them stands in no message.
      const { all } = core.tallies;
      return {
        connections: all.count('connections'),
        listeners: all.count('listeners'),
        watchers: all.count('watchers'),
      };
    },
    listenersOf: (channel) => core.tallies.tally(LISTENERS_OF_CHANNELS).count(channel),
    hls: () => hls,
  });
  const { hub, recorder, admissions, facts } = side;
  const { channels, engine, titles } = hub;
  const names = new TapeNames();
  const hls = makeHls(core, names, (channel) => shared?.hlsElsewhere(channel));
  const ofChannels = hlsOfChannels(hls, channels);
  const gone = { isSome: false };
  const kept = new KeptMetrics();
  const links: HubLinks = new HubLinks({
    clock,
    channels,
    states: engine,
    decisions: hub.decider,
    hls: ofChannels,
    sequence,
    names,
    keys: () => channels.keys(),
    tallies: core.tallies,
    remembered: config.limits.addressesRemembered,
    onError: onLinkError,
    // A private listener of HLS has a key beside its metaid.
    mostMetaids: () => config.sessions.max + 2 * config.limits.listeners + config.limits.watchers,
    // Who plays HLS counts for a while without a connection.
    mostKeys: () =>
      KEYS_OF_CONNECTION * config.limits.connections +
      config.limits.listeners +
      KEYS_OF_CHANNEL * channels.size +
      OTHER_KEYS,
    storeFault: () => store.fault(),
    elsewhere: (channel) => shared?.elsewhere(channel),
    onFigures: (figures, worker) => recorder.add(figures, worker),
    onGone: () => {
      gone.isSome = true;
    },
    onAdmin: (question, ask) => side.admin.answer(question, ask as never),
    ownAnswer: ({ question, ask }) => {
      if (question === 'refusals') return lastRefusals(core.refusals);
      return question === 'log' ? linesOf(core.lines, (ask as { afterMs: number }).afterMs, core.process) : undefined;
    },
    metrics: async (workers, linked) =>
      MetricRegistry.sum([...(await kept.with(workers, linked)), await metrics.registry.plain()]),
    onLastMetrics: (worker, last) => kept.keep(worker, last),
  });
  if (hub.cluster?.time.isAssumed) links.shareTime();
  const restarts = { hub: 0, worker: 0 };
  let areKnown = false;
  observeProcesses(metrics.registry, { workers: links, restarts });
  const connections = new HubConnections(core.tallies);
  connections.observe(metrics.registry);
  const collectMounts = () => {
    mounts.clear();
    for (const { served } of channels.values()) for (const mount of served.mounts) mounts.set(mount.path, mount);
  };
  collectMounts();
  metrics.registry.counts(...ENCODER_CONNECTIONS, verdicts.counts);
  const admit = (encoder: ProvenEncoder) => {
    admissions.take(encoder);
    links.sourceChanged(encoder.channel);
    // Other machines hear at once that there is something to wait for.
    shared?.poke();
  };

  const tapes = await returns.collect(offers, channels, names);
  if (offers > 0) log.info({ tapes }, 'tapes of the hub before this one go on');
  await side.join();
  if (hub.cluster !== null) {
    shared = makeSharedTapes(core, {
      engine: hub.cluster,
      channels,
      names,
      sessions: links.sessions,
      counted: links.counted,
      hls: ofChannels,
      isReturned: (channel) => returns.unhanded.has(channel),
      onMoved: (channel) => {
        links.moveTape(channel);
        hls.refeed(channel);
      },
      onFacts: (channel) => links.look(channel),
      onOwned: (channel) => titles.fed(channel),
      moreLeases: side.moreLeases,
    });
  }
  await side.restore({
    onChange: (channel, change) => links.onChange(channel, change),
    // Workers hear of it over the link, where it stands among the segments.
    onLate: () => undefined,
    onSourceChanged: (channel) => {
      links.sourceChanged(channel);
      shared?.poke();
    },
  });
  // The hub before this one has ended by itself, or it would hand over.
  if (boot.offers !== null && boot.number > 1) facts.died('hub');
  const housekeeping = new Housekeeping(clock, [
    ...side.tasks,
    (nowMs) => hls.tidy(nowMs),
    () => {
      // By now the system has let go of what it held.
      if (gone.isSome) store.checkReaders?.();
      gone.isSome = false;
    },
  ]);
  const pipes = new EncoderPipeServer(boot.hub.encoders, admit, core.onError);
  const server = net.createServer((socket) => links.take(socket));
  await Promise.all([pipes.listen(), listen(server, boot.hub.link)]);
  returns.hold();
  await shared?.start();
  hub.start();
  const refreshHls = () => hls.refresh(sourcesOf([...channels.values()].map(({ served }) => served)));
  const onChannels = () => {
    collectMounts();
    shared?.refresh();
    refreshHls();
  };
  const steps = hubReload({ core, faces, hub, links, onChannels });
  const reloading = new ChildReloads(steps, send, () => opened.setLevel(config.log.level));
  const onMessage: ChildWork['onMessage'] = (message, socket) => {
    if (message.type === 'handover') {
      // What is cut ends where the next hub goes on.
      const needed = new Set(hls.active);
      const written = hls.close();
      server.close();
      pipes.close();
      admissions.close();
      housekeeping.stop();
      void side.endSending(true);
      const { tapes: path } = message.hub;
      const left = shared?.handOver() ?? Promise.resolve();
      void left
        .then(() => written)
        .then(() =>
          handOver(path, {
            clock,
            channels,
            names,
            needed,
            send,
            onError: core.onError,
            closeLinks: () => links.close(),
            closeTitles: () => titles.close(),
            closeStore: () => side.close(),
          }),
        )
        .then(() => leave(0, 'SIGKILL'));
    } else if (message.type === 'backup') {
      const { id } = message;
      void (store.backup?.() ?? Promise.reject(new Error('this store has no backup'))).then(
        (name) => send({ type: 'backedUp', id, name, reason: null }),
        (error: Error) => send({ type: 'backedUp', id, name: null, reason: error.message }),
      );
    } else if (message.type === 'reloadStep') reloading.onMessage(message);
    else if (message.type === 'reloads') side.reloads = message.results;
    else if (message.type === 'restarts') {
      // The first one says what was before this hub.
      const died = areKnown ? message.restarts.worker - restarts.worker : 0;
      for (let i = 0; i < died; i++) facts.died('worker');
      areKnown = true;
      Object.assign(restarts, message.restarts);
    } else if (socket === undefined) return;
    // Of a process of another version: its encoder comes again.
    else if ('version' in message && message.version !== LINK_VERSION) socket.destroy();
    else if (message.type === 'encoder') {
      const { value: encoder } = readEncoder(message);
      if (encoder === null) return void socket.destroy();
      takeOver(socket);
      connections.take(socket, encoder.address);
      admit({ ...encoder, socket });
    } else if (message.type === 'connection') {
      // Over TLS it is counted where that is spoken.
      if (socket.remoteAddress !== undefined) connections.take(socket, socket.remoteAddress);
      const bad = takeConnection(channels, message, socket);
      if (bad !== null) core.onError(new Error(`an encoder's connection of the hub before this one: ${bad}`));
    } else socket.destroy();
  };
  waiting.deliver(onMessage);
  for (const channel of channels.keys()) links.sourceChanged(channel);
  refreshHls();
  send({ type: 'ready', ports: [], shoutcastPorts: [], steps: STEPS_VERSION });

  return {
    onMessage,
    stop: async (graceMs = config.shutdown.graceSeconds * 1000) => {
      const endMs = performance.now() + graceMs;
      const written = hls.close();
      server.close();
      pipes.close();
      const directories = side.stop();
      await shared?.close();
      const errors = await waitForEnd(graceMs - STORE_MS, log, { titles: titles.close(), directories });
      links.close();
      housekeeping.stop();
      clock.stop();
      return [
        ...errors,
        ...(await waitForFiles(endMs - performance.now(), log, { hls: written, store: side.close() })),
      ];
    },
  };
}

/** What comes to a hub while it cannot act on it yet. */
class HubMessages {
  readonly #inbox: ChildParts['inbox'];
  readonly #kept: (readonly [ToChild, Socket | undefined])[] = [];
  readonly #go: Promise<number>;

  constructor(inbox: ChildParts['inbox']) {
    this.#inbox = inbox;
    this.#go = new Promise((resolve) => {
      inbox.onMessage = (message, socket) => {
        if (message.type === 'go') resolve(message.offers);
        else {
          socket?.on('error', () => undefined);
          this.#kept.push([message, socket]);
        }
      };
    });
  }

  /** Resolves when the hub before it has let go of all. @returns how many offer their tapes */
  go(): Promise<number> {
    return this.#go;
  }

  /** From here on all goes there. */
  deliver(onMessage: ChildWork['onMessage']): void {
    this.#inbox.onMessage = onMessage;
    for (const [message, socket] of this.#kept.splice(0)) onMessage(message, socket);
  }
}
