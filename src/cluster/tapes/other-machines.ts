/**
 * The other machines that share audio: which are present according to Redis, and which are left alone for a while after a bad message on any kind
 * of link. Owned by shared-tapes.ts.
 */

import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import { LeftAlone, machineOf } from '../../link/wire/left-alone.js';
import type { ClusterEngine } from '../titles/cluster-engine.js';
import type { Machine } from './tape-client.js';

type Nodes = Awaited<ReturnType<ClusterEngine['nodes']>>;

export interface OtherMachinesParts {
  readonly clock: Clock;
  readonly engine: Pick<ClusterEngine, 'nodes' | 'isReached'>;
  /** The name of this node. */
  readonly node: string;
  /** Called about once a second. @param others name of each that is present → the URL of its tapes @param nodes all of the last day */
  onSeen(others: ReadonlyMap<string, string>, nodes: Nodes): void;
  onError(error: unknown): void;
}

/** Interval at which the list of nodes is read. */
const NODES_MS = 1000;
/** A node that has been absent longer is not asked for tapes. */
const GONE_MS = 5000;
/** Maximum number of machines whose URL is remembered. */
const MAX_URLS = 1000;

export class OtherMachines {
  readonly #parts: OtherMachinesParts;
  readonly #alone: LeftAlone;
  /** Their names in errors, by their last URL. */
  readonly #peers = new Map<string, string>();
  #nodes: Nodes = new Map();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(parts: OtherMachinesParts) {
    this.#parts = parts;
    this.#alone = new LeftAlone(parts.clock);
  }

  /** Resolves after the first look. */
  async start(): Promise<void> {
    await this.#look();
    if (!this.#isClosed) this.#timer = setInterval(() => void this.#look(), NODES_MS);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /** All nodes, this one too, as of about a second ago, with the time of their last question, unix milliseconds of the cluster time. */
  get nodes(): ReadonlyMap<string, { readonly seenMs: number }> {
    return this.#nodes;
  }

  /** The other nodes that are present now. Rejects as Redis does. */
  async present(): Promise<readonly Machine[]> {
    return [...this.#othersOf(await this.#parts.engine.nodes())].map(([node, url]) => ({ node, url }));
  }

  isLeftAlone(node: string, stream: Duplex): boolean {
    return this.#alone.has(machineOf(node, stream));
  }

  /** After a bad message the machine that sent it is left alone. */
  note(error: unknown): void {
    this.#alone.note(error);
  }

  /** Rejects while the machine is left alone. Its address is known from its first connection on, so until then it is asked. */
  async ask({ node, url }: Machine, ask: () => Promise<Duplex>): Promise<Duplex> {
    const known = this.#peers.get(url);
    const stream = known !== undefined && this.#alone.has(known) ? null : await ask();
    const peer = stream === null ? known! : machineOf(node, stream);
    if (!this.#peers.has(url) && this.#peers.size >= MAX_URLS) this.#peers.clear();
    this.#peers.set(url, peer);
    if (stream !== null && !this.#alone.has(peer)) return stream;
    stream?.destroy();
    throw new Error(`${peer} violated the protocol and is not asked again for now`);
  }

  async #look(): Promise<void> {
    const { engine, onSeen, onError } = this.#parts;
    if (!engine.isReached) return;
    await engine.nodes().then(
      (nodes) => {
        this.#nodes = nodes;
        onSeen(this.#othersOf(nodes), nodes);
      },
      (error: unknown) => {
        if (engine.isReached) onError(error);
      },
    );
  }

  #othersOf(nodes: Nodes): ReadonlyMap<string, string> {
    const nowMs = this.#parts.clock.wallMs();
    const others = [...nodes].filter(([node, { seenMs }]) => node !== this.#parts.node && nowMs - seenMs <= GONE_MS);
    return new Map(others.map(([node, { url }]) => [node, url]));
  }
}
