/**
 * Replaces all processes of a supervisor with new ones, which take over their state (README.md, "Rolling restart"). Owned by the supervisor, which
 * runs one restart at a time.
 *
 *   startNext: next hub standby ──► next workers ready ──► replace: slots change hands ──► old hub hands over ──► old workers drain
 *   └──── one fails: all next ones end, nothing changes ───┘
 */

import type { Log } from '../../base/log.js';
import type { ConfigSource } from '../reload/configuration.js';
import type { Children } from '../supervisor/children.js';
import type { ManagedProcess } from '../supervisor/managed-process.js';
import type { SocketPost } from '../supervisor/socket-post.js';

/** How long a hub may take to hand over. */
const HANDOVER_MS = 5000;

interface NextProcesses {
  readonly hub: ManagedProcess;
  readonly workers: readonly ManagedProcess[];
}

export class RollingRestart {
  readonly #children: Children;
  readonly #post: SocketPost;
  readonly #log: Log;

  constructor(children: Children, post: SocketPost, log: Log) {
    this.#children = children;
    this.#post = post;
    this.#log = log;
  }

  /**
   * Resolves when the new processes serve. Rejects if one does not start or speaks another version of messages.ts (the old ones go on), or ends
   * during the replacement (it is started again). @param source the configuration of the new processes, in force once they serve
   */
  async restart(source: ConfigSource): Promise<void> {
    const children = this.#children;
    this.#log.info('restarting');
    const next = await this.#startNext(source).catch((error: Error) => {
      this.#log.error({ err: error }, 'the restart failed: the old processes keep running');
      throw new Error(`not restarted: ${error.message}`, { cause: error });
    });
    // Until here a process that ends is started again with the configuration that was in force.
    children.source = source;
    await this.#replace(next).catch((error: Error) => {
      throw new Error(`restarted, but ${error.message}: restarting it`, { cause: error });
    });
    this.#log.info('restarted');
  }

  /** Starts the next hub, which waits, and the next workers, which serve already or wait for a hub of their version. */
  async #startNext(source: ConfigSource): Promise<NextProcesses> {
    const children = this.#children;
    const hub = children.spawn('hub', children.makeAddress(), null, source);
    const next = [hub];
    try {
      await hub.said('standby');
      if (children.isStopping) throw new Error('stopped in the meantime');
      const workers = children.workers.map(() => children.spawn('worker', children.hubAddress, 0, source));
      next.push(...workers);
      children.next = workers;
      await Promise.all(workers.map((worker) => Promise.race([worker.said('ready'), worker.said('standby')])));
      if (children.isStopping) throw new Error('stopped in the meantime');
      // Nothing would restart a process that ended before it was given a slot.
      const gone = next.find(({ hasEnded }) => hasEnded);
      if (gone !== undefined) throw new Error(`the ${gone.role} has ended`);
      return { hub, workers };
    } catch (error) {
      for (const child of next) child.kill();
      throw error;
    } finally {
      children.next = [];
    }
  }

  /** Puts the new processes into the slots, where they stay whatever happens. */
  async #replace({ hub, workers }: NextProcesses): Promise<void> {
    const children = this.#children;
    const before = children.hub.child;
    const old = children.readyWorkers();
    children.hubAddress = hub.boot.hub;
    for (const [i, slot] of children.workers.entries()) {
      // The process here was being restarted.
      if (slot.child?.isReady === false) slot.child.kill();
      slot.fill(workers[i]!);
    }
    children.hub.fill(hub);
    // Tapes that earlier hubs have taken back do not count.
    children.suspects.begin();
    for (const worker of old) children.draining.add(worker);
    this.#post.hold();
    if (before?.isReady && (await this.#released(before, hub))) hub.send({ type: 'go', offers: 1 });
    else {
      before?.kill();
      const all = children.allWorkers();
      for (const worker of all) worker.send({ type: 'offer', hub: hub.boot.hub });
      hub.send({ type: 'go', offers: all.length });
    }
    try {
      await hub.said('ready');
      await Promise.all(workers.map((worker) => worker.said('ready')));
    } finally {
      for (const worker of old) children.draining.drain(worker);
    }
  }

  /** Resolves with whether the hub has handed over to the next one. If it has, it ends by itself. */
  async #released(before: ManagedProcess, next: ManagedProcess): Promise<boolean> {
    before.isStopping = true;
    const send = () => before.send({ type: 'handover', hub: next.boot.hub });
    const released = before.requests.ask(send, { key: 'released', timeoutMs: HANDOVER_MS });
    const isReleased = await released.then(...ANSWERS);
    if (!isReleased) this.#log.error({ pid: before.pid }, 'the hub did not hand over: its encoders must reconnect');
    // By then the next one has everything that it can get.
    setTimeout(() => before.kill(), HANDOVER_MS).unref();
    return isReleased;
  }
}

/** Handlers that turn a promise into whether it was fulfilled. */
const ANSWERS = [() => true, () => false] as const;
