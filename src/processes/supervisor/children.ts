/**
 * The processes of a supervisor: the hub and the workers in their slots, the next workers during a restart, and those that a restart has replaced.
 * Owned by the supervisor.
 */

import { EventEmitter, once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HubAddress, ProcessRole } from '../messages.js';
import type { ConfigSource } from '../reload/configuration.js';
import type { DrainingWorkers } from '../restart/draining-workers.js';
import { ManagedProcess, type ManagedProcessParts } from './managed-process.js';
import { ProcessSlot } from './process-slot.js';
import { SuspectTapes } from './suspect-tapes.js';

/** How often the local sockets get a new modification time: systemd-tmpfiles removes old files from /tmp, with PrivateTmp even sockets in use. */
const YOUNG_MS = 1_800_000;

type Handlers = Pick<ManagedProcessParts, 'launch' | 'onReady' | 'onMessage' | 'onEnded'>;

export class Children {
  readonly hub = new ProcessSlot('hub', () => this.#start('hub'));
  readonly workers: readonly ProcessSlot[];
  readonly draining: DrainingWorkers;
  /** Workers that are being started to take the place of others. */
  next: readonly ManagedProcess[] = [];
  /** The configuration in force, with which processes are started. */
  source: ConfigSource;
  hubAddress: HubAddress;
  /** Whether no process may be started any more. */
  isStopping = false;
  /** Tapes that may have ended hubs. */
  readonly suspects = new SuspectTapes();
  readonly #handlers: Handlers;
  /** Emits each hub that becomes ready; null once no other will. */
  readonly #hubs = new EventEmitter<{ hub: [ManagedProcess | null] }>();
  readonly #folder = mkdtempSync(join(tmpdir(), 'airsplice-'));
  /** The last number that was given to a process; no number is given twice. */
  #last = 0;

  constructor(source: ConfigSource, workers: number, draining: DrainingWorkers, handlers: Handlers) {
    this.source = source;
    this.workers = Array.from({ length: workers }, () => new ProcessSlot('worker', () => this.#start('worker')));
    this.draining = draining;
    this.#handlers = handlers;
    this.hubAddress = this.makeAddress();
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }));
    setInterval(() => this.#keepYoung(), YOUNG_MS).unref();
  }

  get slots(): readonly ProcessSlot[] {
    return [this.hub, ...this.workers];
  }

  /** What is wrong, in a few words; null if the hub and at least one worker serve. */
  get fault(): string | null {
    if (this.hub.child?.isServing !== true) return 'there is no hub';
    return this.workers.some(({ child }) => child?.isServing) ? null : 'there is no worker';
  }

  readyWorkers(): readonly ManagedProcess[] {
    return this.workers.flatMap(({ child }) => (child?.isReady ? [child] : []));
  }

  /** Returns all workers, including those that drain and those that will take over. */
  allWorkers(): readonly ManagedProcess[] {
    return [...this.workers.flatMap(({ child }) => child ?? []), ...this.draining.all, ...this.next];
  }

  /** Resolves with the hub once it is ready, or with null after `patienceMs` or when the server stops. */
  async readyHub(patienceMs: number): Promise<ManagedProcess | null> {
    const { child } = this.hub;
    if (child?.isReady) return child;
    if (this.isStopping) return null;
    const signal = AbortSignal.timeout(patienceMs);
    const [hub] = await once(this.#hubs, 'hub', { signal }).catch(() => [null]);
    return hub as ManagedProcess | null;
  }

  /** Called when a hub is ready. */
  onHub(hub: ManagedProcess): void {
    this.#hubs.emit('hub', hub);
  }

  /** Starts no process from now on. */
  stop(): void {
    this.isStopping = true;
    for (const slot of this.slots) slot.close();
    this.#hubs.emit('hub', null);
  }

  /** Starts a process that has no slot yet. @param offers as in Boot @param source its configuration */
  spawn(role: ProcessRole, hub: HubAddress, offers: number | null, source = this.source): ManagedProcess {
    return new ManagedProcess({
      role,
      boot: { source, number: ++this.#last, hub, offers, without: this.suspects.channels },
      ...this.#handlers,
    });
  }

  /** Returns an unused address for the next hub. */
  makeAddress(): HubAddress {
    return { link: join(this.#folder, `${this.#last + 1}.hub`) };
  }

  #keepYoung(): void {
    const now = new Date();
    try {
      for (const name of ['', ...readdirSync(this.#folder)]) utimesSync(join(this.#folder, name), now, now);
    } catch {
      // Another program has removed them nevertheless.
    }
  }

  #start(role: ProcessRole): ManagedProcess {
    if (role === 'hub') {
      this.hubAddress = this.makeAddress();
      this.suspects.begin();
    }
    return this.spawn(role, this.hubAddress, this.allWorkers().filter(({ isReady }) => isReady).length);
  }
}
