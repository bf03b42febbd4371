/** A worker as a process of its own: all that strangers reach. Channels, titles and facts come over its link to the hub. */

import net from 'node:net';
import { heedFileLimit } from '../app/addresses/file-limit.js';
import { makeCore } from '../app/core.js';
import { Faces } from '../app/faces.js';
import { Housekeeping } from '../app/housekeeping.js';
import { makePace } from '../app/hub/admissions.js';
import { refreshMap } from '../app/hub/channels.js';
import { copyHls } from '../app/hub/hub-hls.js';
import { turnWatch } from '../app/hub/hub-watches.js';
import { Metrics } from '../app/metrics/metrics.js';
import { waitForEnd, waitForFiles } from '../app/stop-steps.js';
import { openAccessLog } from '../app/worker/access-log.js';
import { ClientSide } from '../app/worker/client-side.js';
import { SystemClock } from '../base/clock.js';
import { Requests } from '../base/requests.js';
import { ServedChannel } from '../channel/served.js';
import { channelsOf } from '../config/adopt.js';
import type { LoadedConfig } from '../config/load.js';
import { Feed } from '../feed/feed.js';
import type { ProvenEncoder } from '../http/ingest/proven.js';
import { LINK_VERSION } from '../link/wire/link-version.js';
import { WorkerLink } from '../link/worker-link.js';
import { type ChannelFace, RecordView } from '../metadata/view.js';
import { openLmdbHistory } from '../store/lmdb.js';
import { Moments } from '../titles/moments.js';
import type { ChildParts, ChildWork } from './child-work.js';
import { letterOf, pipeEncoder } from './encoder-pipe.js';
import { HubConnection } from './hub-connection.js';
import { type HubPaths, STEPS_VERSION } from './messages.js';
import { ChildReloads } from './reload/child-reloads.js';

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
  const faces = new Faces(config);
  const moments = new Moments(clock);
  const metrics = new Metrics(clock, `worker ${boot.number}`);
  let hasBegun = false;
  const link: WorkerLink = new WorkerLink({
    worker: boot.number,
    clock,
    sequence: feed.sequence,
    tallies: core.tallies,
    onError: core.onError,
    mostLagMs: () => config.streams.lagSeconds * 1000,
    deliver: (channel, change) => {
      const face = faces.byChannel.get(channel);
      // It has gone, or comes with what is being put in force.
      if (face === undefined) return;
      clients.deliver(channel, change, change.record && new RecordView(change.record, face));
    },
    onSalts: (salts) => clients.counting.collector.setSalts(salts),
    onReady: () => {
      if (hasBegun) clients.catchUp();
      else clients.restore();
      hasBegun = true;
    },
    metrics: () => metrics.registry.plain(),
    onAdmin: (question, ask) => clients.worker.admin.answer(question, ask as never),
    onAdminState: (state) => clients.worker.admin.set(state),
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
  const serve = (key: string): ServedChannel => {
    const served = servedChannel(config, key, faces.byChannel.get(key)!, link);
    served.audio.observe({
      onLate: (late) => clients.worker.sessions.late(key, late),
      onGrown: () => undefined,
      onFence: () => undefined,
      onTape: () => undefined,
    });
    return served;
  };
  const channels = new Map([...faces.byChannel.keys()].map((key) => [key, serve(key)]));
  /** Made by the supervisor. */
  const reloads = new Requests();
  const connection = new HubConnection(link);
  onHub = () => void connection.open(hub.link);
  const onStoreError = (error: Error) => log.error({ err: error }, 'the store has a problem');
  const history = openLmdbHistory(config.data.folder, config.history, onStoreError, clock);
  const clients: ClientSide = new ClientSide(core, {
    clock,
    metrics,
    onFigures: (figures) => link.sendFigures(figures),
    feed,
    faces,
    channels,
    states: link.titles,
    decisions: link.titles,
    moments,
    history,
    accessLog,
    hls: copyHls(core, link.hls),
    pace: makePace(core),
    queries: {
      hub: async (question, ask) => (await link.ask('admin', { question, ask })) as never,
      all: async (question, ask) => (await link.ask('everywhere', { question, ask })) as never,
    },
    reload: () => reloads.ask((id) => send({ type: 'reload', id })),
    others: { worker: boot.number, link: link.sessions },
    onProven: (encoder) => {
      // It may go while the hub is waited for.
      encoder.socket.on('error', () => undefined);
      if (link.isReady) passOn(encoder, hub, send);
      else void link.ready().then(() => passOn(encoder, hub, send));
    },
  });
  const { counting } = clients;
  const { network } = clients.worker;
  await counting.ready();
  await connection.open(hub.link);
  const housekeeping = new Housekeeping(clock, [...clients.tasks, () => metrics.turn(), turnWatch(core)]);
  await clients.prepare({
    isReady: () => link.isReady && link.storeFault === null,
    metrics: () => link.ask('metrics', null),
  });
  const ports = await clients.listen();
  heedFileLimit(config, { restrict: (count) => network.guards.connections.restrict(count) }, log);
  let removed: readonly string[] = [];
  const steps = clients.steps(() => {
    const changes = refreshMap(channels, faces.byChannel.keys(), serve);
    removed = [...changes.removed.keys()];
    return { added: changes.added, removed };
  });
  const commit = async (next: LoadedConfig) => {
    await link.known([...channelsOf(next).keys()].filter((key) => !channels.has(key)));
    await steps.commit(next);
    link.forget(removed);
  };
  const reloading = new ChildReloads({ ...steps, commit }, send, () => parts.opened.setLevel(config.log.level));
  send({
    type: 'ready',
    ports: ports.map(({ port }) => port),
    shoutcastPorts: ports.map(({ shoutcast }) => shoutcast ?? null),
    steps: STEPS_VERSION,
  });

  return {
    onMessage: (message, socket) => {
      socket?.destroy();
      if (message.type === 'reopen') accessLog?.reopen();
      else if (message.type === 'reloaded') {
        const { id, plan, reason } = message;
        if (plan !== null) reloads.answer(id, plan);
        else reloads.fail(id, new Error(reason ?? 'not reloaded'));
      } else if (message.type === 'reloadStep') reloading.onMessage(message);
      else if (message.type === 'drain') {
        void clients.leave().then(() => send({ type: 'drained' }));
      } else if (message.type === 'offer') offerTapes(link, message.hub.tapes);
      else if (message.type === 'hub') {
        hub = message.hub;
        onHub();
      }
    },
    stop: async (graceMs = config.shutdown.graceSeconds * 1000) => {
      const endMs = performance.now() + graceMs;
      const steps = { ...clients.drain(), titles: link.titles.close() };
      const errors = await waitForEnd(graceMs - Math.min(LAST_STEPS_MS, graceMs / 2), log, steps);
      network.terminate();
      housekeeping.stop();
      counting.last();
      await link.leave();
      connection.close();
      clock.stop();
      const files = { accessLog: accessLog?.close(), history: history.close() };
      return [...errors, ...(await waitForFiles(endMs - performance.now(), log, files))];
    },
  };
}

function servedChannel(config: LoadedConfig, key: string, { station }: ChannelFace, link: WorkerLink): ServedChannel {
  return new ServedChannel(key, config.stations[station]!.channels[key]!, config, {
    audio: link.audio(key),
    live: link.live(key),
    sendTitle: (title) => link.ask('title', { channel: key, title }),
  });
}

/** An encoder whose secret is right goes to the hub: its socket, or where that speaks TLS its bytes. */
function passOn(encoder: ProvenEncoder, hub: HubPaths, send: ChildParts['send']): void {
  const { socket } = encoder;
  if (socket.destroyed) return;
  if ('encrypted' in socket) {
    pipeEncoder(encoder, hub.encoders);
    return;
  }
  send(letterOf(encoder), socket, () => socket.destroy());
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
