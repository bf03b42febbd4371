/**
 * The bridges to all other machines (session-bridge.ts). Of two machines the one whose name sorts first connects, and reconnects while the other is
 * present.
 */

import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.js';
import { FIRST_NODE, type SessionRegistry } from '../link/sessions/session-registry.js';
import type { ClusterCounts } from './cluster-counts.js';
import { SessionBridge } from './session-bridge.js';
import type { Machine } from './tapes/tape-client.js';
import type { ClusterSettings } from './titles/channel-settings.js';

export interface SessionBridgesParts {
  readonly registry: SessionRegistry;
  /** The name of this machine. */
  readonly node: string;
  readonly counts: ClusterCounts;
  readonly settings: ClusterSettings;
  has(channel: string): boolean;
  readonly clock: Clock;
  ask(machine: Machine): Promise<Duplex>;
  onError(error: unknown): void;
}

/** Maximum number of machines: a faulty or hostile one may come by any number of names. */
const MAX_MACHINES = 256;
/** Maximum number of machines that are contacted at a time: Redis may name many that do not exist. */
const MAX_CONTACTED = 64;

export class SessionBridges {
  readonly #parts: SessionBridgesParts;
  readonly #bridges = new Map<string, SessionBridge>();
  readonly #connecting = new Set<string>();
  /** The rest has its turn at the next looks. */
  readonly #tried = new Set<string>();
  /** Each machine keeps its number. */
  readonly #numbers = new Map<string, number>();
  #isClosed = false;

  constructor(parts: SessionBridgesParts) {
    this.#parts = parts;
  }

  /** How many machines are linked. */
  get count(): number {
    return this.#bridges.size;
  }

  /**
   * Connects to those of these machines that have no bridge yet. Called periodically.
   * @param urls by name @param known all names that were here within a day; the others are forgotten
   */
  look(urls: ReadonlyMap<string, string>, known: ReadonlyMap<string, unknown>): void {
    for (const node of this.#numbers.keys())
      if (!this.#bridges.has(node) && !known.has(node)) this.#parts.settings.forget(node);
    const missing = [...urls].filter(
      ([node]) => this.#parts.node < node && !this.#bridges.has(node) && !this.#connecting.has(node),
    );
    if (missing.every(([node]) => this.#tried.has(node))) this.#tried.clear();
    for (const [node, url] of missing) {
      if (this.#connecting.size >= MAX_CONTACTED || this.#tried.has(node)) continue;
      this.#tried.add(node);
      void this.#connect(node, url);
    }
  }

  /** Those of these machines to ask at once: linked ones, which have the cluster's secret, before others, up to a maximum. */
  mostLikely(machines: readonly Machine[]): readonly Machine[] {
    const order = ({ node }: Machine) => Number(!this.#bridges.has(node));
    return [...machines].sort((a, b) => order(a) - order(b)).slice(0, MAX_CONTACTED);
  }

  /** Sends changed numbers of listeners, and settings. Called a few times a second. */
  say(): void {
    for (const bridge of this.#bridges.values()) bridge.say();
  }

  /** Another machine has connected. */
  take(node: string, stream: Duplex): void {
    // Another machine uses the same name.
    const number = this.#isClosed || node === this.#parts.node ? null : this.#numberOf(node);
    if (number === null) return void stream.destroy();
    // Its former connection may not have ended here yet.
    this.#bridges.get(node)?.close();
    const { registry, counts, settings, has, clock, onError } = this.#parts;
    const bridge: SessionBridge = new SessionBridge(stream, {
      registry,
      number,
      node,
      counts,
      settings,
      has,
      clock,
      onError,
      onClosed: () => {
        if (this.#bridges.get(node) === bridge) this.#bridges.delete(node);
      },
    });
    this.#bridges.set(node, bridge);
  }

  close(): void {
    this.#isClosed = true;
    for (const bridge of [...this.#bridges.values()]) bridge.close();
  }

  /** Past the maximum, that of a machine that is not linked; null: all are. */
  #numberOf(node: string): number | null {
    let number = this.#numbers.get(node);
    if (number !== undefined) return number;
    number = FIRST_NODE + this.#numbers.size;
    if (this.#numbers.size >= MAX_MACHINES) {
      const gone = [...this.#numbers].find(([name]) => !this.#bridges.has(name));
      if (gone === undefined) return null;
      number = gone[1];
      this.#numbers.delete(gone[0]);
      this.#parts.settings.forget(gone[0]);
    }
    this.#numbers.set(node, number);
    return number;
  }

  /** Never rejects: it is retried at the next look. */
  async #connect(node: string, url: string): Promise<void> {
    this.#connecting.add(node);
    try {
      this.take(node, await this.#parts.ask({ node, url }));
    } catch {
      // It cannot be reached now.
    } finally {
      this.#connecting.delete(node);
    }
  }
}
