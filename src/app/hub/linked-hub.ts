/**
 * The hub of a server whose clients are in other processes: the side of the channels, the links of the workers, and the audio that machines share.
 * Nothing that a stranger sends arrives here unchecked. processes/hub-process.ts connects the processes; the other end is worker/linked-worker.ts.
 */

import type { SystemClock } from '../../base/clock.js';
import { measured } from '../../base/watchdog.js';
import type { Channel } from '../../channel/channel.js';
import type { SharedTapes } from '../../cluster/tapes/shared-tapes.js';
import { Sequence } from '../../feed/sequence.js';
import type { ProvenEncoder } from '../../http/ingest/proven.js';
import type { TapeNames } from '../../link/tapes/tape-names.js';
import type { Store } from '../../store/store.js';
import { tryPortsThatCome } from '../addresses/address.js';
import type { Core } from '../core.js';
import type { Faces } from '../faces.js';
import { Housekeeping } from '../housekeeping.js';
import { Metrics } from '../metrics/metrics.js';
import { type ReloadSteps, takeConfig } from '../reload.js';
import { waitForEnd, waitForFiles } from '../stop-steps.js';
import { sourcesOf } from './hub-hls.js';
import { makeSharedTapes } from './hub-shared-tapes.js';
import { HubSide } from './hub-side.js';
import { LinkedClients } from './linked-clients.js';

/** Time reserved for the store, after titles and encoders. */
const STORE_MS = 500;

export interface LinkedHubParts {
  readonly clock: SystemClock;
  readonly store: Store;
  readonly faces: Faces;
  /** Puts the tapes of the former hub onto their channels. */
  takeBack(channels: ReadonlyMap<string, Channel>, names: TapeNames): Promise<void>;
  /** Channels whose tape is what workers had of it. */
  isReturned(channel: string): boolean;
  /** Called with the fault of a worker's link. */
  onLinkError(error: unknown): void;
}

/** Committed titles are in force, and returned tapes continue; nothing plays yet. */
export async function makeLinkedHub(core: Core, parts: LinkedHubParts): Promise<LinkedHub> {
  const { clock, store, faces, onLinkError } = parts;
  let shared: SharedTapes | null = null;
  const side = new HubSide(core, {
    store,
    faces,
    sequence: new Sequence(),
    metrics: new Metrics(clock, 'hub'),
    clients: () => clients,
    shared: () => shared,
  });
  const clients: LinkedClients = new LinkedClients(core, side, onLinkError);
  if (side.hub.cluster?.time.isAssumed) clients.onTimeMoved();
  await parts.takeBack(side.hub.channels, side.names);
  await side.join();
  shared = makeSharedTapes(core, side, clients, (channel) => parts.isReturned(channel));
  await side.restore();
  return new LinkedHub(core, clock, side, clients, shared);
}

export class LinkedHub {
  readonly side: HubSide;
  readonly clients: LinkedClients;
  readonly #core: Core;
  readonly #clock: SystemClock;
  readonly #shared: SharedTapes | null;
  readonly #housekeeping: Housekeeping;

  /** @param shared null: no audio is shared */
  constructor(core: Core, clock: SystemClock, side: HubSide, clients: LinkedClients, shared: SharedTapes | null) {
    this.#core = core;
    this.#clock = clock;
    this.side = side;
    this.clients = clients;
    this.#shared = shared;
    const tasks = [...side.tasks, (nowMs: number) => side.hls.tidy(nowMs), () => clients.tidy()];
    this.#housekeeping = new Housekeeping(clock, tasks);
  }

  /** Workers can connect: starts the sources. Called once. Rejects if the port for other machines is not available. */
  async start(): Promise<void> {
    const { hub } = this.side;
    await this.#shared?.start();
    hub.start();
    for (const channel of hub.channels.keys()) this.clients.links.sourceChanged(channel);
    this.#refreshHls();
  }

  /** Takes an encoder and its socket, which is paused. */
  admit(encoder: ProvenEncoder): void {
    this.side.admissions.take(encoder);
    this.clients.onSourceChanged(encoder.channel);
  }

  /** The steps of a reload here: workers learn of new channels before they put the configuration in force. */
  get steps(): ReloadSteps {
    const { hub, parts } = this.side;
    return {
      prepare: () => undefined,
      // Where it is refused no worker has tried: Node would count that as one of the sockets that they share, and a worker that is started later
      // could not have the port.
      listen: (next) => tryPortsThatCome(this.#core.config, next),
      commit: (next) => {
        measured('reload', () => {
          takeConfig(this.#core, next);
          parts.faces.refresh();
          const { added, removed } = hub.refresh();
          this.clients.collectMounts();
          this.#shared?.refresh();
          this.#refreshHls();
          this.clients.links.refresh(added, removed);
        });
      },
      discard: () => undefined,
      restore: () => undefined,
    };
  }

  #refreshHls(): void {
    this.side.hls.refresh(sourcesOf(this.side.hub.served.values()));
  }

  /** The next hub continues the HLS of here: nothing is taken or sent any more. Resolves when everything that was cut is saved. */
  async leave(): Promise<void> {
    const { side } = this;
    const written = side.hls.close();
    side.admissions.close();
    this.#housekeeping.stop();
    void side.endSending(true);
    await this.#shared?.handOver();
    await written;
  }

  /** @returns why something could not be closed */
  async stop(graceMs = this.#core.config.shutdown.graceSeconds * 1000): Promise<readonly unknown[]> {
    const { log } = this.#core;
    const { side } = this;
    const endMs = performance.now() + graceMs;
    const written = side.hls.close();
    const directories = side.stop();
    await this.#shared?.close();
    const errors = await waitForEnd(graceMs - STORE_MS, log, { titles: side.hub.titles.close(), directories });
    this.clients.links.close();
    this.#housekeeping.stop();
    this.#clock.stop();
    const files = { hls: written, store: side.close() };
    return [...errors, ...(await waitForFiles(endMs - performance.now(), log, files))];
  }
}
