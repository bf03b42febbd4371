/**
 * A worker in a process of its own: everything that strangers reach. Channels, titles and facts come over its link to the hub (hub/linked-hub.ts),
 * and the history from the store's file. processes/worker-process.ts connects it to the hub.
 */

import { IDLE_OBSERVER } from '../../audio/playable-audio.js';
import type { SystemClock } from '../../base/clock.js';
import { ServedChannel } from '../../channel/served.js';
import { channelsOf } from '../../config/adopt.js';
import { Feed } from '../../feed/feed.js';
import type { ProvenEncoder } from '../../http/ingest/proven.js';
import type { OtherVersion } from '../../link/wire/link-version.js';
import { WorkerLink } from '../../link/worker-link.js';
import { RecordView } from '../../metadata/view.js';
import { openLmdbHistory } from '../../store/lmdb.js';
import { Moments } from '../../titles/moments.js';
import { restrictToFileLimit } from '../addresses/file-limit.js';
import type { Core } from '../core.js';
import { Faces } from '../faces.js';
import { Housekeeping } from '../housekeeping.js';
import { makePace } from '../hub/admissions.js';
import { refreshMap } from '../hub/channels.js';
import { copyHls } from '../hub/hub-hls.js';
import { turnWatch } from '../hub/hub-watches.js';
import { Metrics } from '../metrics/metrics.js';
import type { ReloadSteps } from '../reload.js';
import { waitForEnd, waitForFiles } from '../stop-steps.js';
import { ClientSide, type ClientSideParts } from './client-side.js';

/** The part of the time to stop that is reserved for the steps after connections. */
const LAST_STEPS_MS = 500;

export interface LinkedWorkerParts extends Pick<ClientSideParts, 'accessLog' | 'reload'> {
  readonly clock: SystemClock;
  /** An encoder is authenticated, and there is a hub to take it. */
  onProven(encoder: ProvenEncoder): void;
  /** @param hasBegun whether there was a hub before that could be understood */
  onOtherVersion(error: OtherVersion, hasBegun: boolean): void;
}

export class LinkedWorker {
  readonly link: WorkerLink;
  readonly clients: ClientSide;
  readonly #core: Core;
  readonly #parts: LinkedWorkerParts;
  readonly #feed = new Feed();
  readonly #faces: Faces;
  readonly #metrics: Metrics;
  readonly #channels: Map<string, ServedChannel>;
  readonly #history: ReturnType<typeof openLmdbHistory>;
  #housekeeping: Housekeeping | null = null;
  /** There was a hub whose states are known. */
  #hasBegun = false;

  constructor(core: Core, parts: LinkedWorkerParts) {
    const { config, log, process } = core;
    const { clock, accessLog } = parts;
    this.#core = core;
    this.#parts = parts;
    this.#faces = new Faces(config);
    this.#metrics = new Metrics(clock, `worker ${process}`);
    this.link = this.#makeLink();
    const { link } = this;
    this.#channels = new Map([...this.#faces.byChannel.keys()].map((key) => [key, this.#serve(key)]));
    const onStoreError = (error: Error) => log.error({ err: error }, 'the store has a problem');
    this.#history = openLmdbHistory(config.data.folder, config.history, onStoreError, clock);
    this.clients = new ClientSide(core, {
      clock,
      metrics: this.#metrics,
      onFigures: (figures) => link.sendFigures(figures),
      feed: this.#feed,
      faces: this.#faces,
      channels: this.#channels,
      states: link.titles,
      decisions: link.titles,
      moments: new Moments(clock),
      history: this.#history,
      accessLog,
      hls: copyHls(core, link.hls),
      pace: makePace(core),
      queries: {
        hub: async (question, ask) => (await link.ask('admin', { question, ask })) as never,
        all: async (question, ask) => (await link.ask('everywhere', { question, ask })) as never,
      },
      reload: () => parts.reload(),
      others: { worker: process, link: link.sessions },
      onProven: (encoder) => {
        // It may disconnect while the hub is awaited.
        encoder.socket.on('error', () => undefined);
        if (link.isReady) parts.onProven(encoder);
        else void link.ready().then(() => parts.onProven(encoder));
      },
    });
  }

  #makeLink(): WorkerLink {
    const { config, clock, tallies, onError, process } = this.#core;
    return new WorkerLink({
      worker: process,
      clock,
      tallies,
      onError,
      sequence: this.#feed.sequence,
      maxLagMs: () => config.streams.lagSeconds * 1000,
      deliver: (channel, change) => {
        const face = this.#faces.byChannel.get(channel);
        // It was removed, or will be added by the reload under way.
        if (face === undefined) return;
        this.clients.onChange(channel, change, change.record && new RecordView(change.record, face));
      },
      onShared: (message) => this.clients.share(message),
      tickets: () => this.clients.tickets.text,
      sessions: () => this.clients.worker.sessionTarget,
      onReady: () => {
        if (this.#hasBegun) this.clients.catchUp();
        else this.clients.restore();
        this.#hasBegun = true;
      },
      metrics: () => this.#metrics.registry.plain(),
      onAdmin: (question, ask) => this.clients.worker.admin.answer(question, ask),
      onOtherVersion: (error) => this.#parts.onOtherVersion(error, this.#hasBegun),
    });
  }

  #serve(key: string): ServedChannel {
    const { config } = this.#core;
    const { link } = this;
    const { station } = this.#faces.byChannel.get(key)!;
    const served = new ServedChannel(key, config.stations[station]!.channels[key]!, config, {
      audio: link.audio(key),
      live: link.live(key),
      sendTitle: (title, cameMs) => link.ask('title', { channel: key, title, cameMs }),
    });
    served.audio.observe({ ...IDLE_OBSERVER, onLate: (late) => this.clients.onLate(key, late) });
    return served;
  }

  /** The hub is linked: accepts connections. Rejects if a port is not available. */
  async listen(): ReturnType<ClientSide['listen']> {
    const { clients, link } = this;
    const { config, log } = this.#core;
    const tasks = [...clients.tasks, () => this.#metrics.turn(), turnWatch(this.#core)];
    this.#housekeeping = new Housekeeping(this.#parts.clock, tasks);
    await clients.prepare({
      isReady: () => link.isReady && link.storeFault === null,
      metrics: () => link.ask('metrics', null),
    });
    const ports = await clients.listen();
    restrictToFileLimit(config, clients.worker.network.guards.connections, log);
    return ports;
  }

  /** The steps of a reload here, after the hub, whose states of new channels are awaited. */
  get steps(): ReloadSteps {
    const { link } = this;
    let removed: readonly string[] = [];
    const steps = this.clients.steps(() => {
      const changes = refreshMap(this.#channels, this.#faces.byChannel.keys(), (key) => this.#serve(key));
      removed = [...changes.removed.keys()];
      return { added: changes.added, removed };
    });
    return {
      ...steps,
      commit: async (next) => {
        await link.known([...channelsOf(next).keys()].filter((key) => !this.#channels.has(key)));
        await steps.commit(next);
        link.forget(removed);
      },
    };
  }

  /** @param onLeft called when the hub has received everything @returns why something could not be closed */
  async stop(graceMs: number, onLeft: () => void): Promise<readonly unknown[]> {
    const { clients, link } = this;
    const { log } = this.#core;
    const { clock, accessLog } = this.#parts;
    const endMs = performance.now() + graceMs;
    const steps = { ...clients.drain(), titles: link.titles.close() };
    const errors = await waitForEnd(graceMs - Math.min(LAST_STEPS_MS, graceMs / 2), log, steps);
    clients.worker.network.terminate();
    this.#housekeeping?.stop();
    clients.counting.last();
    await link.leave();
    onLeft();
    clock.stop();
    const files = { accessLog: accessLog?.close(), history: this.#history.close() };
    return [...errors, ...(await waitForFiles(endMs - performance.now(), log, files))];
  }
}
