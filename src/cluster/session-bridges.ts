/**
 * The bridges to all other machines (session-bridge.ts): of two machines the one whose name comes first connects, again and again while the other is
 * there.
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
  /** This machine's name. */
  readonly node: string;
  readonly counts: ClusterCounts;
  readonly settings: ClusterSettings;
  has(channel: string): boolean;
  readonly clock: Clock;
  ask(machine: Machine): Promise<Duplex>;
  onError(error: unknown): void;
}

export class SessionBridges {
  readonly #parts: SessionBridgesParts;
  readonly #bridges = new Map<string, SessionBridge>();
  readonly #connecting = new Set<string>();
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

  /** Those that are there, by name. Called now and then. */
  look(urls: ReadonlyMap<string, string>): void {
    for (const [node, url] of urls) {
      if (this.#parts.node < node && !this.#bridges.has(node) && !this.#connecting.has(node))
        void this.#connect(node, url);
    }
  }

  /** How many listen here. Called a few times a second. */
  say(): void {
    for (const bridge of this.#bridges.values()) bridge.say();
  }

  /** Another machine has connected. */
  take(node: string, stream: Duplex): void {
    // Another machine has this one's name.
    if (this.#isClosed || node === this.#parts.node) return void stream.destroy();
    // Its connection before this one may not have ended here yet.
    this.#bridges.get(node)?.close();
    let number = this.#numbers.get(node);
    if (number === undefined) this.#numbers.set(node, (number = FIRST_NODE + this.#numbers.size));
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

  /** Never rejects: it is tried again at the next look. */
  async #connect(node: string, url: string): Promise<void> {
    this.#connecting.add(node);
    try {
      this.take(node, await this.#parts.ask({ node, url }));
    } catch {
      // It is not there, or not yet.
    } finally {
      this.#connecting.delete(node);
    }
  }
}
