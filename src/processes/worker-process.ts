/** A worker in its own process (app/worker/linked-worker.ts): its connection to the hub, and the messages of the supervisor. */

import type { Socket } from 'node:net';
import { type Core, makeCore } from '../app/core.js';
import { openAccessLog } from '../app/worker/access-log.js';
import { LinkedWorker, type LinkedWorkerParts } from '../app/worker/linked-worker.js';
import { SystemClock } from '../base/clock.js';
import { Requests } from '../base/requests.js';
import type { ProvenEncoder } from '../http/ingest/proven.js';
import { LINK_VERSION, type OtherVersion } from '../link/wire/link-version.js';
import type { ChildParts, ChildWork } from './child-work.js';
import { letterOf, pipeEncoder } from './encoder-pipe.js';
import { HubConnection } from './hub-connection.js';
import { connectToHub } from './hub-socket.js';
import { type HubAddress, STEPS_VERSION, type ToChild } from './messages.js';
import { ChildReloads } from './reload/child-reloads.js';

/** Starts a worker. Resolves when it accepts connections; rejects if it cannot listen at a port. */
export async function startWorker(parts: ChildParts): Promise<ChildWork> {
  const { boot, config, opened, receive } = parts;
  const clock = new SystemClock();
  const core = makeCore(config, clock, opened.log, boot.number);
  let { hub } = boot;
  let work: WorkerProcess | null = null;
  receive((message, socket) => {
    socket?.destroy();
    if (message.type !== 'hub') return;
    hub = message.hub;
    work?.follow(hub);
  });
  const accessLog = await openAccessLog(config, core.repeats);
  work = new WorkerProcess(core, hub, { ...parts, clock, accessLog });
  await work.start();
  return work;
}

class WorkerProcess implements ChildWork {
  readonly #core: Core;
  readonly #parts: ChildParts & Pick<LinkedWorkerParts, 'accessLog'>;
  readonly #worker: LinkedWorker;
  readonly #connection: HubConnection;
  readonly #reloads: ChildReloads;
  /** Reloads for which operators have asked here, and which the supervisor makes. */
  readonly #asked = new Requests();
  #hub: HubAddress;

  constructor(core: Core, hub: HubAddress, parts: ChildParts & Pick<LinkedWorkerParts, 'clock' | 'accessLog'>) {
    const { clock, accessLog, opened, send } = parts;
    this.#core = core;
    this.#hub = hub;
    this.#parts = parts;
    this.#worker = new LinkedWorker(core, {
      clock,
      accessLog,
      reload: () => this.#asked.ask((id) => send({ type: 'reload', id })),
      onProven: (encoder) => this.#passOn(encoder),
      onOtherVersion: (error, hasBegun) => this.#onOtherVersion(error, hasBegun),
    });
    this.#connection = new HubConnection(this.#worker.link);
    this.#reloads = new ChildReloads(this.#worker.steps, send, () => opened.setLevel(core.config.log.level));
  }

  async start(): Promise<void> {
    await this.#worker.clients.counting.ready();
    await this.#connection.open(this.#hub.link);
    const ports = await this.#worker.listen();
    this.#parts.send({
      type: 'ready',
      ports: ports.map(({ port }) => port),
      shoutcastPorts: ports.map(({ shoutcast }) => shoutcast ?? null),
      steps: STEPS_VERSION,
    });
  }

  /** Connects to another hub. */
  follow(hub: HubAddress): void {
    this.#hub = hub;
    void this.#connection.open(hub.link);
  }

  onMessage(message: ToChild, socket: Socket | undefined): void {
    socket?.destroy();
    if (message.type === 'reopen') this.#parts.accessLog?.reopen();
    else if (message.type === 'reloadStep') this.#reloads.onMessage(message);
    else if (message.type === 'offer') this.#offerTapes(message.hub.link);
    else if (message.type === 'hub') this.follow(message.hub);
    else if (message.type === 'drain') {
      void this.#worker.clients.leave().then(() => this.#parts.send({ type: 'drained' }));
    } else if (message.type === 'reloaded') {
      const { id, plan, reason } = message;
      if (plan !== null) this.#asked.answer(id, plan);
      else this.#asked.fail(id, new Error(reason ?? 'not reloaded'));
    }
  }

  #onOtherVersion({ version }: OtherVersion, hasBegun: boolean): void {
    const { log } = this.#core;
    const { send, end } = this.#parts;
    this.#connection.giveUp();
    const fields = { version, ownVersion: LINK_VERSION };
    if (!hasBegun) {
      log.warn(fields, 'the hub speaks another version of the link: waiting for the next hub');
      send({ type: 'standby' });
      return;
    }
    log.warn(fields, 'the hub speaks another version of the link: this worker ends, and its clients reconnect');
    end();
  }

  /** Passes an authenticated encoder to the hub: its socket, or its decrypted bytes if it uses TLS. */
  #passOn(encoder: ProvenEncoder): void {
    const { socket } = encoder;
    if (socket.destroyed) return;
    if ('encrypted' in socket) pipeEncoder(encoder, this.#hub.link);
    else this.#parts.send(letterOf(encoder), socket, () => socket.destroy());
  }

  /** Offers the tapes that this worker has to a new hub. Those that it does not take begin anew. */
  #offerTapes(path: string): void {
    const socket = connectToHub(path, 'tapes');
    const drop = () => socket.destroy();
    socket.once('error', drop).once('connect', () => {
      socket.off('error', drop);
      this.#worker.link.offerTapes(socket);
    });
  }

  stop(graceMs = this.#core.config.shutdown.graceSeconds * 1000): Promise<readonly unknown[]> {
    return this.#worker.stop(graceMs, () => this.#connection.close());
  }
}
