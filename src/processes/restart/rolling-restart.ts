/**
 * Replaces all processes of a supervisor by others, which take over what they hold (README.md, "Rolling restart"). Owned by the supervisor, which
 * begins one at a time.
 *
 *   startNext: next hub standby ──► next workers ready ──► replace: places change hands ──► old hub hands over ──► old workers drain
 *   └──── one fails: all next ones end, nothing changes ───┘
 */

import type { Log } from '../../base/log.js';
import type { ConfigSource } from '../reload/configuration.js';
import type { Children } from '../supervisor/children.js';
import type { ManagedProcess } from '../supervisor/managed-process.js';
import type { SocketPost } from '../supervisor/socket-post.js';

/** How long a hub may take to hand over, and the next one then to be ready: requests wait as long. */
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
   * Resolves when the new ones serve. Rejects where a new process does not start or speaks another version of messages.ts (then the old ones go on),
   * and where one of them has ended since.
   * @param source the text for the new ones, which is in force where they serve
   */
  async restart(source: ConfigSource): Promise<void> {
    const children = this.#children;
    this.#log.info('restarting');
    const before = children.source;
    children.source = source;
    const next = await this.#startNext().catch((error: Error) => {
      children.source = before;
      this.#log.error({ err: error }, 'the restart has failed: the processes that ran go on');
      throw new Error(`not restarted: ${error.message}`, { cause: error });
    });
    await this.#replace(next).catch((error: Error) => {
      throw new Error(`restarted, but ${error.message}: it is started again`, { cause: error });
    });
    this.#log.info('restarted');
  }

  /** The next hub, which waits, and the next workers, which serve already, or wait for a hub that they can speak with. */
  async #startNext(): Promise<NextProcesses> {
    const children = this.#children;
    const hub = children.spawn('hub', children.makePaths(), null);
    const next = [hub];
    try {
      await hub.said('standby');
      if (children.isStopping) throw new Error('stopped meanwhile');
      const workers = children.workers.map(() => children.spawn('worker', children.hubPaths, 0));
      next.push(...workers);
      children.next = workers;
      await Promise.all(workers.map((worker) => Promise.race([worker.said('ready'), worker.said('standby')])));
      if (children.isStopping) throw new Error('stopped meanwhile');
      // In its place it would be missed by nobody.
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

  /** From here on the new ones count, whatever happens. */
  async #replace({ hub, workers }: NextProcesses): Promise<void> {
    const children = this.#children;
    const before = children.hub.child;
    const old = children.readyWorkers();
    children.hubPaths = hub.boot.hub;
    for (const [i, place] of children.workers.entries()) {
      // One that was being started again.
      if (place.child?.isReady === false) place.child.kill();
      place.fill(workers[i]!);
    }
    children.hub.fill(hub);
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

  /** Whether the hub has handed over to the next one. It ends by itself then. */
  async #released(before: ManagedProcess, next: ManagedProcess): Promise<boolean> {
    before.isStopping = true;
    const send = () => before.send({ type: 'handover', hub: next.boot.hub });
    const released = before.requests.ask(send, { key: 'released', timeoutMs: HANDOVER_MS });
    const isReleased = await released.then(...ANSWERS);
    if (!isReleased) this.#log.error({ pid: before.pid }, 'the hub has not handed over: its encoders come again');
    // What the next one wants of it, it has soon.
    setTimeout(() => before.kill(), HANDOVER_MS).unref();
    return isReleased;
  }
}

/** Of a promise: whether it was kept. */
const ANSWERS = [() => true, () => false] as const;
