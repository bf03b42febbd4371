/**
 * What all nodes have in common, in the process of an origin, where there is no Redis: the log, the last values, the leases, with the same rules
 * (scripts.ts; test/cluster/log/held-log.test.ts holds them side by side). It has a life of its own in each process: after a restart the nodes fill
 * it from their stores, as they do with a Redis that was emptied.
 */

import { randomUUID } from 'node:crypto';
import { mostMomentMs, mostVersion } from '../../metadata/record-schema.js';
import { NO_RANK } from '../tapes/leases.js';
import {
  type CommitAnswer,
  type LogArgs,
  LogLost,
  MAX_LEASE_MS,
  type Pairs,
  type Reply,
  type SharedLog,
} from './shared-log.js';

type Entry = readonly [id: string, fields: readonly string[]];

interface Owner {
  node: string;
  url: string;
  epoch: number;
  tillMs: number;
  renewedMs: number;
  rank: number;
  before: string;
  beforeUrl: string;
  facts: number;
}

const BELLS_KEPT = 20_000;
/**
 * What other machines may have it hold, whatever they say: channels and nodes by name, of last values and of the log together, of the facts of a
 * channel.
 */
export const MAX_CHANNELS = 20_000;
const MAX_NODES = 1000;
export const MAX_HELD_BYTES = 256 * 1024 * 1024;
const MAX_FACTS = 1024 * 1024;
/** A node that asks in the name of another one, which has asked so shortly before. */
const TWICE_MS = 2000;
const LEASE_HEAD = 4;
const LEASE_FIELDS = 5;

export class HeldLog {
  #epoch: string = randomUUID();
  #seq = 0;
  #stamp = 0;
  readonly #versions = new Map<string, string>();
  readonly #last = new Map<string, string>();
  /** The last change that a node has committed of a channel. */
  readonly #done = new Map<string, string>();
  readonly #log: Entry[] = [];
  readonly #owners = new Map<string, Owner>();
  readonly #facts = new Map<string, string>();
  readonly #nodes = new Map<string, string>();
  readonly #waiting = new Set<() => void>();
  /** Of the texts in both: characters. */
  #lastBytes = 0;
  #logBytes = 0;
  readonly #mostEntries: number;
  readonly #wallMs: () => number;
  /** Leases go by the monotonic clock, so that setting the wall clock ends none. */
  readonly #beganMs: number;

  /** @param mostEntries how many entries the log has at most, whatever the nodes want */
  constructor(wallMs: () => number = Date.now, mostEntries = Number.POSITIVE_INFINITY) {
    this.#mostEntries = mostEntries;
    this.#wallMs = wallMs;
    this.#beganMs = wallMs() - performance.now();
  }

  /** One node's way to it. */
  open(): SharedLog {
    return new HeldLogView(this);
  }

  get timeMs(): number {
    return this.#wallMs();
  }

  get epoch(): string {
    return this.#epoch;
  }

  get nodes(): ReadonlyMap<string, string> {
    return this.#nodes;
  }

  get last(): ReadonlyMap<string, string> {
    return this.#last;
  }

  forget(nodes: readonly string[]): void {
    for (const node of nodes) this.#nodes.delete(node);
  }

  hello([fresh, mine, seq, id, stamp]: LogArgs): readonly [string, number, number] {
    let goesOn = 0;
    if (mine === this.#epoch) {
      const place = Number(seq);
      const there = this.#at(place);
      const isOther = there !== undefined && id !== '' && fieldOf(there, 'p') !== id;
      if (place > this.#seq || isOther) this.#epoch = String(fresh);
      else if (there !== undefined || place === this.#seq) goesOn = 1;
    }
    this.#stamp = Math.max(this.#stamp, this.#believed(Number(stamp)));
    return [this.#epoch, this.#seq, goesOn];
  }

  commit(args: LogArgs): CommitAnswer {
    const [epoch, channel, before, version, hasRecord, lastStamp, ordered, history, id, node, most] = args.map(String);
    if (epoch !== this.#epoch) return ['epoch', 0];
    const field = `${node} ${channel}`;
    if (this.#done.get(field) === id) return ['done', this.#seq];
    const known = this.#versions.get(channel!) ?? '0';
    if (known !== before && Number(known) <= mostVersion(Number(before))) return ['stale', Number(known)];
    const lastBytes = this.#lastBytes + ordered!.length - (this.#last.get(channel!)?.length ?? 0);
    if (lastBytes > MAX_HELD_BYTES) throw new Error(`the origin holds ${MAX_HELD_BYTES} bytes of last values at most`);
    if (!this.#versions.has(channel!)) mustHaveRoom(this.#versions);
    this.#lastBytes = lastBytes;
    let stamp = '0';
    if (hasRecord === '1') {
      this.#stamp = Math.max(this.#wallMs(), this.#stamp + 1, this.#believed(Number(lastStamp)) + 1);
      stamp = `${this.#stamp}`;
    }
    this.#versions.set(channel!, version!);
    this.#last.set(channel!, `${stamp} ${ordered}`);
    setNewest(this.#done, field, id!, MAX_CHANNELS);
    const fields = { c: channel!, v: version!, p: id!, n: node!, s: stamp, o: ordered!, h: history! };
    this.#append(Object.entries(fields).flat(), Number(most));
    return ['ok', this.#seq];
  }

  lease(args: LogArgs): Reply {
    const [node, url, lasts, stale] = args.slice(0, LEASE_HEAD).map(String) as [string, string, string, string];
    const nowMs = Math.floor(this.#beganMs + performance.now());
    const lastsMs = Math.min(Number(lasts), MAX_LEASE_MS);
    const answer: string[] = [];
    let isNews = false;
    const isTwice = this.#isTwice(node, url);
    setNewest(this.#nodes, node, `${this.#wallMs()} ${url}`, MAX_NODES);
    for (let i = LEASE_HEAD; i < args.length; i += LEASE_FIELDS) {
      const [channel, wish, rankText, facts, known] = args.slice(i, i + LEASE_FIELDS).map(String) as string[];
      const owner = this.#ownerOf(channel!, nowMs);
      const knowsOwner = known !== '';
      const asked = { node, url, wish: Number(wish), rank: Number(rankText), tillMs: nowMs + lastsMs, knowsOwner };
      if (changeOwner(owner, asked, nowMs, Number(stale))) isNews = true;
      if (facts!.length > MAX_FACTS) throw new Error(`facts of more than ${MAX_FACTS} bytes`);
      if (owner.node === node && facts !== '') {
        owner.facts = Math.max(owner.facts, nowMs) + 1;
        this.#facts.set(channel!, facts!);
        isNews = true;
      }
      const version = `${owner.facts}`;
      const said = owner.node !== node && version !== known ? (this.#facts.get(channel!) ?? '') : '';
      answer.push(owner.node, owner.url, `${owner.epoch}`, owner.before, owner.beforeUrl, version, said);
    }
    if (isNews) this.#append(['c', '', 'p', `${node} ${this.#seq + 1}`], BELLS_KEPT);
    answer.push(isTwice ? '1' : '0');
    return answer;
  }

  #believed(stamp: number): number {
    return stamp <= mostMomentMs(this.#wallMs()) ? stamp : 0;
  }

  /** What there is behind this number, at once. */
  after(seq: number, most: number): readonly Entry[] {
    if (seq >= this.#seq) return [];
    const first = this.#seq - this.#log.length + 1;
    const from = Math.max(0, seq + 1 - first);
    return this.#log.slice(from, from + most);
  }

  /** Called once, with the next entry. Returns how to give that up. */
  onNext(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  #at(seq: number): Entry | undefined {
    return this.#log[seq - (this.#seq - this.#log.length + 1)];
  }

  #append(fields: readonly string[], most: number): void {
    this.#log.push([`${++this.#seq}-0`, fields]);
    this.#logBytes += bytesOf(fields);
    // A little more than is wanted, so that it is not moved for each.
    const mostEntries = Math.max(1, Math.min(most, this.#mostEntries));
    let gone = this.#log.length > mostEntries * 1.1 ? this.#log.length - mostEntries : 0;
    let logBytes = this.#logBytes;
    for (let i = 0; i < gone; i++) logBytes -= bytesOf(this.#log[i]![1]);
    // A node that misses an entry reads the last values.
    for (; logBytes > MAX_HELD_BYTES && gone < this.#log.length - 1; gone++) logBytes -= bytesOf(this.#log[gone]![1]);
    this.#logBytes = logBytes;
    if (gone > 0) this.#log.splice(0, gone);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  #isTwice(node: string, url: string): boolean {
    const [seenMs, at] = this.#nodes.get(node)?.split(' ') ?? [];
    return at !== undefined && at !== url && Math.abs(this.#wallMs() - Number(seenMs)) < TWICE_MS;
  }

  #ownerOf(channel: string, nowMs: number): Owner {
    let owner = this.#owners.get(channel);
    if (owner === undefined) {
      mustHaveRoom(this.#owners);
      const nobody = { node: '', url: '', before: '', beforeUrl: '' };
      owner = { ...nobody, epoch: Math.floor(nowMs / 1000), tillMs: 0, renewedMs: 0, rank: NO_RANK, facts: 0 };
      this.#owners.set(channel, owner);
    }
    return owner;
  }
}

function bytesOf(fields: readonly string[]): number {
  return fields.reduce((bytes, field) => bytes + field.length, 0);
}

function mustHaveRoom({ size }: ReadonlyMap<string, unknown>): void {
  if (size >= MAX_CHANNELS) throw new Error(`the origin holds ${MAX_CHANNELS} channels at most`);
}

/** The one that was set longest ago makes room. */
function setNewest(map: Map<string, string>, name: string, value: string, most: number): void {
  map.delete(name);
  map.set(name, value);
  if (map.size > most) map.delete(map.keys().next().value!);
}

interface AskedLease {
  readonly node: string;
  readonly url: string;
  readonly wish: number;
  readonly rank: number;
  readonly tillMs: number;
  /** The node knows of another node's lease. */
  readonly knowsOwner: boolean;
}

/** Returns whether there is another owner. */
function changeOwner(
  owner: Owner,
  { node, url, wish, rank, tillMs, knowsOwner }: AskedLease,
  nowMs: number,
  staleMs: number,
): boolean {
  const isMine = owner.node === node;
  if (owner.node === '' && owner.before === '' && owner.renewedMs === 0 && knowsOwner) {
    // The data was lost. The owner will ask in a moment; until then its lease counts as just renewed.
    Object.assign(owner, { tillMs, renewedMs: nowMs, rank: 0 });
  }
  if (wish === 0) {
    if (!isMine) return false;
    Object.assign(owner, { before: owner.node, beforeUrl: owner.url, node: '', url: '', tillMs: 0, rank: NO_RANK });
    owner.epoch++;
    return true;
  }
  if (isMine) {
    Object.assign(owner, { tillMs, renewedMs: wish === 4 ? tillMs : nowMs, rank, url });
    return false;
  }
  // It is another node's.
  if (wish === 4) return false;
  const isAlive = owner.tillMs > nowMs && (owner.node !== '' || knowsOwner);
  const isBetter = wish >= 2 && rank < owner.rank;
  const isStale = wish === 3 && nowMs - owner.renewedMs > staleMs;
  if (isAlive && !isBetter && !isStale) return false;
  Object.assign(owner, { before: owner.node, beforeUrl: owner.url, node, url, tillMs, renewedMs: nowMs, rank });
  owner.epoch++;
  return true;
}

function fieldOf([, fields]: Entry, name: string): string | undefined {
  const place = fields.indexOf(name);
  return place === -1 ? undefined : fields[place + 1];
}

class HeldLogView implements SharedLog {
  readonly #held: HeldLog;
  #lost: LogLost | null = null;
  readonly #giveUp = new Set<() => void>();
  onLost: (reason: Error) => void = () => undefined;

  constructor(held: HeldLog) {
    this.#held = held;
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  close(): void {
    if (this.#lost !== null) return;
    this.#lost = new LogLost('it was closed');
    for (const giveUp of this.#giveUp) giveUp();
    this.onLost(this.#lost);
  }

  timeMs = () => this.#ask(() => this.#held.timeMs);
  epoch = () => this.#ask(() => this.#held.epoch);
  hello = (args: LogArgs) => this.#ask(() => this.#held.hello(args));
  commit = (args: LogArgs) => this.#ask(() => this.#held.commit(args));
  lease = (args: LogArgs) => this.#ask(() => this.#held.lease(args));
  nodes = () => this.#ask(() => [...this.#held.nodes]);
  forget = (nodes: readonly string[]) => this.#ask(() => this.#held.forget(nodes));

  last(channels: readonly string[] | null): Promise<Pairs> {
    const { last } = this.#held;
    return this.#ask(() => {
      if (channels === null) return [...last];
      return channels.flatMap((channel) => (last.has(channel) ? [[channel, last.get(channel)!] as const] : []));
    });
  }

  async entriesAfter(seq: number, most: number, waitMs: number): Promise<readonly Reply[]> {
    const there = await this.#ask(() => this.#held.after(seq, most));
    if (there.length > 0) return there;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        stop();
        this.#giveUp.delete(end);
        resolve();
      };
      const timer = setTimeout(end, waitMs);
      const stop = this.#held.onNext(end);
      this.#giveUp.add(end);
    });
    return await this.#ask(() => this.#held.after(seq, most));
  }

  async #ask<T>(answer: () => T): Promise<T> {
    if (this.#lost !== null) throw this.#lost;
    return answer();
  }
}
