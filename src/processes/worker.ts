/** A worker as a process of its own: all that strangers reach. Channels, titles and facts come over its link to the hub. */

import net from 'node:net';
import { resolve } from 'node:path';
import { openAccessLog } from '../app/access-log.js';
import { Addresses } from '../app/addresses.js';
import { makePace } from '../app/admissions.js';
import { makeCore } from '../app/core.js';
import { makeFaces } from '../app/faces.js';
import { heedFileLimit } from '../app/file-limit.js';
import { Housekeeping } from '../app/housekeeping.js';
import { Metrics } from '../app/metrics.js';
import { waitForEnd, waitForFiles } from '../app/stop-steps.js';
import { turnWatch } from '../app/watches.js';
import { Worker } from '../app/worker.js';
import { observeWorker } from '../app/worker-metrics.js';
import { SystemClock } from '../base/clock.js';
import { ServedChannel } from '../channel/served.js';
import type { LoadedConfig } from '../config/load.js';
import { Feed } from '../feed/feed.js';
import type { ProvenEncoder } from '../http/ingest/proven.js';
import { LINK_VERSION } from '../link/version.js';
import { WorkerLink } from '../link/worker-link.js';
import { type ChannelFace, RecordView } from '../metadata/view.js';
import { openLmdbHistory } from '../store/lmdb.js';
import { Moments } from '../titles/moments.js';
import type { ChildParts, ChildWork } from './child-work.js';
import { pipeEncoder, sentEncoder } from './encoder-pipe.js';
import { HubConnection } from './hub-connection.js';
import type { HubPaths } from './messages.js';

/** What is kept of the time to stop, once connections have been waited for. */
const LAST_STEPS_MS = 500;

/** Starts it; resolves when it takes connections. Rejects when a port cannot be had. */
export async function startWorker(parts: ChildParts): Promise<ChildWork> {
  const { boot, config, inbox, send, end } = parts;
  const { log } = parts.opened;
  const clock = new SystemClock();
  clock.watchdog.longMs = config.log.longTurnMs;
  const core = makeCore(config, clock, log, boot.number);
  let { hub } = boot;
  let onHub = (): void => undefined;
  inbox.onMessage = (message, socket) => {
    socket?.destroy();
    if (message.type !== 'hub') return;
    hub = message.hub;
    onHub();
  };
  const accessLog = await openAccessLog(config, core.repeats);
  const feed = new Feed();
  const faces = makeFaces(config);
  const moments = new Moments(clock);
  const metrics = new Metrics(clock, `worker ${boot.number}`);
  let worker: Worker | null = null;
  let hasBegun = false;
  const link: WorkerLink = new WorkerLink({
    ...{ worker: boot.number, clock, sequence: feed.sequence, tallies: core.tallies, onError: core.onError },
    deliver: (channel, change) => {
      const view = change.record && new RecordView(change.record, faces.get(channel)!);
      worker?.readers.deliver(channel, change, view);
    },
    onReady: () => {
      if (hasBegun) worker?.readers.catchUp(link.engine);
      else worker?.readers.restore(link.engine);
      hasBegun = true;
    },
    metrics: () => metrics.registry.plain(),
    onOtherVersion: ({ version }) => {
      connection.giveUp();
      const fields = { version, ownVersion: LINK_VERSION };
      if (!hasBegun) {
        log.warn(fields, 'the hub speaks another version of the link: this worker waits for the next hub');
        send({ type: 'standby' });
        return;
      }
      log.warn(fields, 'the hub speaks another version of the link: this worker ends, and its clients come again');
      end();
    },
  });
  const channels = servedChannels(config, faces, link);
  for (const [key, { audio }] of channels) {
    audio.observe({
      onLate: (late) => worker?.sessions.late(key, late),
      onGrown: () => undefined,
      onFence: () => undefined,
      onTape: () => undefined,
    });
  }
  const connection = new HubConnection(link);
  onHub = () => void connection.open(hub.link);
  const onStoreError = (error: Error) => log.error({ err: error }, 'the store has a problem');
  const history = openLmdbHistory(resolve(config.data.folder), config.history, onStoreError);
  worker = new Worker(core, {
    ...{ feed, faces, channels, engine: link.engine, moments, history, accessLog, pace: makePace(core) },
    others: { worker: boot.number, link: link.sessions },
    onPush: (channel) => link.push(channel),
    onProven: (encoder) => {
      // It may go while the hub is waited for.
      encoder.socket.on('error', () => undefined);
      if (link.isReady) passOn(encoder, hub, send);
      else void link.ready().then(() => passOn(encoder, hub, send));
    },
  });
  const { network } = worker;
  await connection.open(hub.link);
  observeWorker(metrics.registry, worker);
  const housekeeping = new Housekeeping(clock, [
    (nowMs) => worker.tidy(nowMs),
    () => metrics.turn(),
    () => accessLog?.flush(),
    turnWatch(clock.watchdog, log),
  ]);
  const ready = { isListening: false };
  await network.ready({
    get ready() {
      return ready.isListening && link.isReady && link.storeFault === null;
    },
    metricsType: metrics.registry.contentType,
    metrics: () => link.ask('metrics', null),
  });
  const addresses = new Addresses(config, network, clock, log);
  const ports = await addresses.listen();
  heedFileLimit(config, { restrict: (count) => network.guards.connections.restrict(count) }, log);
  ready.isListening = true;
  send({
    type: 'ready',
    ports: ports.map(({ port }) => port),
    shoutcastPorts: ports.map(({ shoutcast }) => shoutcast ?? null),
  });

  return {
    onMessage: (message, socket) => {
      socket?.destroy();
      if (message.type === 'reopen') accessLog?.reopen();
      else if (message.type === 'drain') {
        network.router.leave();
        void addresses.drain().then(() => send({ type: 'drained' }));
      } else if (message.type === 'offer') offerTapes(link, message.hub.tapes);
      else if (message.type === 'hub') {
        hub = message.hub;
        onHub();
      }
    },
    stop: async (graceMs = config.shutdown.graceSeconds * 1000) => {
      const endMs = performance.now() + graceMs;
      ready.isListening = false;
      const connections = addresses.close().then(() => network.streams.settled());
      network.drain();
      const steps = { titles: link.engine.close(), requests: network.close(), connections };
      const errors = await waitForEnd(graceMs - Math.min(LAST_STEPS_MS, graceMs / 2), log, steps);
      network.terminate();
      housekeeping.stop();
      await link.leave();
      connection.close();
      clock.stop();
      const files = { accessLog: accessLog?.close(), history: history.close() };
      return [...errors, ...(await waitForFiles(endMs - performance.now(), log, files))];
    },
  };
}

function servedChannels(
  config: LoadedConfig,
  faces: ReadonlyMap<string, ChannelFace>,
  link: WorkerLink,
): Map<string, ServedChannel> {
  const served = [...faces].map(([key, { station }]): [string, ServedChannel] => {
    const channel = config.stations[station]!.channels[key]!;
    return [
      key,
      new ServedChannel(key, channel, config, {
        audio: link.audio(key),
        live: link.live(key),
        sendTitle: (title) => link.ask('title', { channel: key, title }),
      }),
    ];
  });
  return new Map(served);
}

/** An encoder whose secret is right goes to the hub: its socket, or where that speaks TLS its bytes. */
function passOn(encoder: ProvenEncoder, hub: HubPaths, send: ChildParts['send']): void {
  const { socket } = encoder;
  if (socket.destroyed) return;
  if ('encrypted' in socket) {
    pipeEncoder(encoder, hub.encoders);
    return;
  }
  send({ type: 'encoder', encoder: sentEncoder(encoder), version: LINK_VERSION }, socket, () => socket.destroy());
}

/** A new hub takes back what is here of the tapes of the one before; where it does not, they begin anew. */
function offerTapes(link: WorkerLink, path: string): void {
  const socket = net.connect(path);
  const drop = () => socket.destroy();
  socket.once('error', drop).once('connect', () => {
    socket.off('error', drop);
    link.offerTapes(socket);
  });
}
