/** The hub in its own process (app/hub/linked-hub.ts): handles what arrives from the previous hub, the supervisor and the workers. */

import type { Socket } from 'node:net';
import { type Core, makeCore } from '../app/core.js';
import { Faces } from '../app/faces.js';
import { type LinkedHub, makeLinkedHub } from '../app/hub/linked-hub.js';
import { SystemClock } from '../base/clock.js';
import { LINK_VERSION, OtherVersion } from '../link/wire/link-version.js';
import { attach } from '../net/front/handover.js';
import { openLmdbStore } from '../store/lmdb.js';
import type { ChildParts, ChildWork } from './child-work.js';
import { EncoderPipes } from './encoder-pipe.js';
import { readEncoder } from './encoder-schema.js';
import { HubSocket } from './hub-socket.js';
import { type HubAddress, type SocketLetter, STEPS_VERSION, type ToChild } from './messages.js';
import { ChildReloads } from './reload/child-reloads.js';
import { handOver } from './restart/hub-handover.js';
import { HubReturns, takeConnection } from './restart/hub-returns.js';
import { leave } from './restart/leaving.js';

/** Starts the hub. Resolves when workers can connect; rejects if the data folder is in use or a source cannot be created. */
export async function startHub(parts: ChildParts): Promise<ChildWork> {
  const { boot, config, send } = parts;
  const { log } = parts.opened;
  const clock = new SystemClock();
  const core = makeCore(config, clock, log, boot.number);
  const onLinkError = (error: unknown) => {
    if (!(error instanceof OtherVersion)) core.onError(error);
    else log.warn({ version: error.version, ownVersion: LINK_VERSION }, `${error.message}: it is refused`);
  };
  const faces = new Faces(config);
  const { without = [] } = boot;
  const returns = new HubReturns({
    clock,
    without,
    onError: onLinkError,
    // Offers arrive before the channels exist.
    has: (channel) => faces.byChannel.has(channel),
    maxLagMs: () => config.streams.lagSeconds * 1000,
    onTakes: (channel) => send({ type: 'takes', channel }),
  });
  for (const channel of without) {
    log.error(
      { channel },
      'the hub ended twice within a minute while restoring this tape: the channel begins a new one',
    );
  }
  const waiting = new HubMessages(parts.receive);
  const local = new HubSocket();
  local.take('tapes', (socket) => returns.take(socket));
  await local.listen(boot.hub.link);
  send({ type: boot.offers === null ? 'standby' : 'taking' });
  const offers = boot.offers ?? (await waiting.go());
  const onStoreError = (error: Error) => log.error({ err: error }, 'the store has a problem');
  const store = await openLmdbStore(config.data.folder, config.history, onStoreError, undefined, clock);
  const hub = await makeLinkedHub(core, {
    clock,
    store,
    faces,
    onLinkError,
    takeBack: async (channels, names) => {
      const tapes = await returns.collect(offers, channels, names);
      local.take('tapes', null);
      if (offers > 0) log.info({ tapes }, 'continuing the tapes of the previous hub');
    },
    isReturned: (channel) => returns.unhanded.has(channel),
  });
  // The previous hub has died, or it would hand over.
  if (boot.offers !== null && boot.number > 1) hub.side.facts.died('hub');
  const work = new HubProcess(core, hub, local, parts);
  returns.hold();
  await hub.start();
  waiting.deliver(work);
  send({ type: 'ready', ports: [], shoutcastPorts: [], steps: STEPS_VERSION });
  return work;
}

class HubProcess implements ChildWork {
  readonly #core: Core;
  readonly #hub: LinkedHub;
  readonly #send: ChildParts['send'];
  readonly #reloads: ChildReloads;
  readonly #pipes: EncoderPipes;
  readonly #local: HubSocket;

  constructor(core: Core, hub: LinkedHub, local: HubSocket, { opened, send }: ChildParts) {
    this.#core = core;
    this.#hub = hub;
    this.#send = send;
    this.#reloads = new ChildReloads(hub.steps, send, () => opened.setLevel(core.config.log.level));
    this.#pipes = new EncoderPipes((encoder) => hub.admit(encoder), core.onError);
    this.#local = local;
    local.take('encoder', (socket) => this.#pipes.take(socket));
    local.take('link', (socket) => hub.clients.links.take(socket));
  }

  onMessage(message: ToChild, socket: Socket | undefined): void {
    const { side, clients } = this.#hub;
    if (message.type === 'handover') void this.#handOver(message.hub).then(() => leave(0, 'SIGKILL'));
    else if (message.type === 'backup') this.#backUp(message.id);
    else if (message.type === 'reloadStep') this.#reloads.onMessage(message);
    else if (message.type === 'reloads') side.reloads = message.results;
    else if (message.type === 'restarts') clients.restarted(message.restarts);
    else if (socket === undefined) return;
    else if (message.type === 'encoder' || message.type === 'connection') this.#take(message, socket);
    else socket.destroy();
  }

  /** Takes an encoder that has connected to a worker, or a connection of the previous hub. */
  #take(letter: SocketLetter, socket: Socket): void {
    const { connections } = this.#hub.clients;
    // Sent by a process of another version: the encoder connects again.
    if (letter.version !== LINK_VERSION) socket.destroy();
    else if (letter.type === 'encoder') {
      const { value: encoder } = readEncoder(letter);
      if (encoder === null) return void socket.destroy();
      attach(socket);
      connections.take(socket, encoder.address);
      this.#hub.admit({ ...encoder, socket });
    } else {
      // An encoder over TLS is counted by the worker that decrypts it; its local socket has no remote address.
      if (socket.remoteAddress !== undefined) connections.take(socket, socket.remoteAddress);
      const bad = takeConnection(this.#hub.side.hub.channels, letter, socket);
      if (bad !== null) this.#core.onError(new Error(`an encoder connection of the previous hub is unusable: ${bad}`));
    }
  }

  /** Hands over to the hub that waits there. */
  async #handOver({ link }: HubAddress): Promise<void> {
    const { side, clients } = this.#hub;
    // The HLS of these channels is being cut, and the next hub continues it where it ends here.
    const needed = new Set(side.hls.active);
    this.#close();
    await this.#hub.leave();
    await handOver(link, {
      clock: this.#core.clock,
      channels: side.hub.channels,
      names: side.names,
      needed,
      send: this.#send,
      onError: this.#core.onError,
      closeLinks: () => clients.links.close(),
      closeTitles: () => side.hub.titles.close(),
      closeStore: () => side.close(),
    });
  }

  #backUp(id: number): void {
    void this.#hub.side.backup().then(
      (name) => this.#send({ type: 'backedUp', id, name, reason: null }),
      (error: Error) => this.#send({ type: 'backedUp', id, name: null, reason: error.message }),
    );
  }

  stop(graceMs?: number): Promise<readonly unknown[]> {
    this.#close();
    return this.#hub.stop(graceMs);
  }

  /** Accepts no more connections. */
  #close(): void {
    this.#local.close();
    this.#pipes.close();
  }
}

/** Keeps the messages that arrive before the hub can handle them. */
class HubMessages {
  readonly #kept: (readonly [ToChild, Socket | undefined])[] = [];
  readonly #go: Promise<number>;
  /** Null: the hub cannot handle messages yet. */
  #work: ChildWork | null = null;

  constructor(receive: ChildParts['receive']) {
    this.#go = new Promise((resolve) => {
      receive((message, socket) => {
        if (this.#work !== null) this.#work.onMessage(message, socket);
        else if (message.type === 'go') resolve(message.offers);
        else {
          socket?.on('error', () => undefined);
          this.#kept.push([message, socket]);
        }
      });
    });
  }

  /** Resolves when the previous hub has released everything. @returns the number of processes that offer tapes */
  go(): Promise<number> {
    return this.#go;
  }

  /** Delivers the kept messages, and all later ones directly. */
  deliver(work: ChildWork): void {
    this.#work = work;
    for (const [message, socket] of this.#kept.splice(0)) work.onMessage(message, socket);
  }
}
