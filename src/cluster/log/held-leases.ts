/** The leases of an origin without Redis, by the same rules as lease.lua. Owned by HeldLog. */

import { NO_RANK } from '../tapes/leases.js';
import { type AskedLease, type LeaseAnswer, type LeaseQuestion, MAX_FACTS } from './log-schema.js';
import { MAX_LEASE_MS, MAX_NODES } from './shared-log.js';

interface Owner {
  node: string;
  url: string;
  epoch: number;
  tillMs: number;
  renewedMs: number;
  rank: number;
  beforeNode: string;
  beforeUrl: string;
  /** Of the facts. */
  version: number;
}

/** Limits of what other machines can make it hold. */
export const MAX_CHANNELS = 20_000;
/** Another process that has asked in a node's name within this time may be another node (../tapes/leases.ts). */
const TWICE_MS = 2000;

export class HeldLeases {
  /** Name of each node → when it asked last, unix milliseconds, its URL, its process. */
  readonly nodes = new Map<string, string>();
  readonly #owners = new Map<string, Owner>();
  readonly #facts = new Map<string, string>();
  readonly #wallMs: () => number;
  /** Leases use the monotonic clock, so that they do not expire when the wall clock is set. */
  readonly #beganMs: number;

  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
    this.#beganMs = wallMs() - performance.now();
  }

  forget(nodes: readonly string[]): void {
    for (const node of nodes) this.nodes.delete(node);
  }

  /** @throws Error past a limit */
  ask({ node, url, run, lastsMs, staleMs, leases }: LeaseQuestion): {
    readonly isNews: boolean;
    readonly answer: LeaseAnswer;
  } {
    const nowMs = Math.floor(this.#beganMs + performance.now());
    const tillMs = nowMs + Math.min(lastsMs, MAX_LEASE_MS);
    let isNews = false;
    const isNameTaken = this.#isNameTaken(node, run);
    setNewest(this.nodes, node, `${this.#wallMs()} ${url} ${run}`, MAX_NODES);
    const answers = leases.map((asked) => {
      const { channel, facts, known } = asked;
      const owner = this.#ownerOf(channel, nowMs);
      if (changeOwner(owner, { ...asked, node, url, tillMs }, nowMs, staleMs)) isNews = true;
      if (facts.length > MAX_FACTS) throw new Error(`facts of more than ${MAX_FACTS} characters`);
      if (owner.node === node && facts !== '') {
        owner.version = Math.max(owner.version, nowMs) + 1;
        this.#facts.set(channel, facts);
        isNews = true;
      }
      const { node: owning, url: at, beforeNode, beforeUrl, epoch, version } = owner;
      const said = owning !== node && version !== known ? (this.#facts.get(channel) ?? '') : '';
      return { node: owning, url: at, epoch, beforeNode, beforeUrl, version, facts: said };
    });
    return { isNews, answer: { leases: answers, isNameTaken } };
  }

  #isNameTaken(node: string, run: string): boolean {
    const [seenMs, , by] = this.nodes.get(node)?.split(' ') ?? [];
    return by !== undefined && by !== run && Math.abs(this.#wallMs() - Number(seenMs)) < TWICE_MS;
  }

  #ownerOf(channel: string, nowMs: number): Owner {
    let owner = this.#owners.get(channel);
    if (owner === undefined) {
      mustHaveRoom(this.#owners);
      const noOwner = { node: '', url: '', beforeNode: '', beforeUrl: '' };
      owner = { ...noOwner, epoch: Math.floor(nowMs / 1000), tillMs: 0, renewedMs: 0, rank: NO_RANK, version: 0 };
      this.#owners.set(channel, owner);
    }
    return owner;
  }
}

/** @throws Error */
export function mustHaveRoom({ size }: ReadonlyMap<string, unknown>): void {
  if (size >= MAX_CHANNELS) throw new Error(`the origin holds ${MAX_CHANNELS} channels at most`);
}

/** Past `most` entries, the oldest is removed. */
export function setNewest(map: Map<string, string>, name: string, value: string, most: number): void {
  map.delete(name);
  map.set(name, value);
  if (map.size > most) map.delete(map.keys().next().value!);
}

/** @returns whether the owner has changed */
function changeOwner(
  owner: Owner,
  asked: AskedLease & { readonly node: string; readonly url: string; readonly tillMs: number },
  nowMs: number,
  staleMs: number,
): boolean {
  const { node, url, wish, rank, tillMs } = asked;
  // Whether the node knows another owner.
  const knowsOwner = asked.known !== null;
  const isMine = owner.node === node;
  if (owner.node === '' && owner.beforeNode === '' && owner.renewedMs === 0 && knowsOwner) {
    // The data was lost. The owner will ask soon; until then its lease counts as just renewed.
    Object.assign(owner, { tillMs, renewedMs: nowMs, rank: 0 });
  }
  if (wish === 0) {
    if (!isMine) return false;
    Object.assign(owner, { beforeNode: owner.node, beforeUrl: owner.url, node: '', url: '', tillMs: 0, rank: NO_RANK });
    owner.epoch++;
    return true;
  }
  if (isMine) {
    Object.assign(owner, { tillMs, renewedMs: wish === 4 ? tillMs : nowMs, rank, url });
    return false;
  }
  // Another node has it.
  if (wish === 4) return false;
  const isAlive = owner.tillMs > nowMs && (owner.node !== '' || knowsOwner);
  const isBetter = wish >= 2 && rank < owner.rank;
  const isStale = wish === 3 && nowMs - owner.renewedMs > staleMs;
  if (isAlive && !isBetter && !isStale) return false;
  Object.assign(owner, { beforeNode: owner.node, beforeUrl: owner.url, node, url, tillMs, renewedMs: nowMs, rank });
  owner.epoch++;
  return true;
}
