/**
 * The shared log in the memory of an origin, without Redis: log, last values and leases, by the same rules as the scripts (`*.lua`;
 * test/cluster/log/held-log.test.ts compares both). Each process begins with a new epoch: after a restart the nodes fill it from their stores, as
 * they do with an emptied Redis.
 */

import { randomUUID } from 'node:crypto';
import { maxMomentMs, maxVersion } from '../../metadata/record-schema.js';
import { HeldLeases, MAX_CHANNELS, mustHaveRoom, setNewest } from './held-leases.js';
import type { Commit, CommitAnswer, JoinAnswer, Joining, LeaseAnswer, LeaseQuestion, RawEntry } from './log-schema.js';
import { ANSWER_BYTES, CLOSED, LogLost, type OnLogLost, type Pairs, type SharedLog } from './shared-log.js';

const BELLS_KEPT = 20_000;
/** Maximum of the last values, and of the log, in characters: other machines decide what is in them. */
export const MAX_HELD_BYTES = 256 * 1024 * 1024;

export class HeldLog {
  #epoch: string = randomUUID();
  #seq = 0;
  #stamp = 0;
  readonly #versions = new Map<string, number>();
  readonly #last = new Map<string, string>();
  /** `node channel` → the id of the last change that the node has committed there. */
  readonly #done = new Map<string, string>();
  readonly #log: RawEntry[] = [];
  readonly #leases: HeldLeases;
  readonly #waiting = new Set<() => void>();
  /** Characters in the last values, and in the log. */
  #lastBytes = 0;
  #logBytes = 0;
  readonly #maxEntries: number;
  readonly #wallMs: () => number;

  /** @param maxEntries maximum number of entries in the log, whatever nodes ask for */
  constructor(wallMs: () => number = Date.now, maxEntries = Number.POSITIVE_INFINITY) {
    this.#maxEntries = maxEntries;
    this.#wallMs = wallMs;
    this.#leases = new HeldLeases(wallMs);
  }

  /** A connection for one node. */
  open(onLost: OnLogLost = () => undefined): SharedLog {
    return new HeldLogView(this, onLost);
  }

  get timeMs(): number {
    return this.#wallMs();
  }

  get epoch(): string {
    return this.#epoch;
  }

  get nodes(): ReadonlyMap<string, string> {
    return this.#leases.nodes;
  }

  /** See SharedLog. */
  last(channels: readonly string[]): Pairs {
    const found: (readonly [channel: string, text: string])[] = [];
    let left = ANSWER_BYTES;
    for (const channel of channels) {
      const text = this.#last.get(channel);
      if (text === undefined) continue;
      left -= text.length;
      if (left < 0 && found.length > 0) break;
      found.push([channel, text]);
    }
    return found;
  }

  forget(nodes: readonly string[]): void {
    this.#leases.forget(nodes);
  }

  hello({ freshEpoch, epoch, seq, id, lastStamp }: Joining): JoinAnswer {
    let goesOn = false;
    if (epoch === this.#epoch) {
      const there = this.#at(seq);
      const isOther = there !== undefined && id !== '' && there.fields['p'] !== id;
      if (seq > this.#seq || isOther) this.#epoch = freshEpoch;
      else goesOn = there !== undefined || seq === this.#seq;
    }
    this.#stamp = Math.max(this.#stamp, this.#believed(lastStamp));
    return { epoch: this.#epoch, seq: this.#seq, goesOn };
  }

  commit(change: Commit): CommitAnswer {
    const { epoch, channel, before, version, hasRecord, lastStamp, ordered, history, id, node, logEntries } = change;
    if (epoch !== this.#epoch) return { verdict: 'epoch', number: 0 };
    const field = `${node} ${channel}`;
    if (this.#done.get(field) === id) return { verdict: 'done', number: this.#seq };
    const known = this.#versions.get(channel) ?? 0;
    if (known !== before && known <= maxVersion(before)) return { verdict: 'stale', number: known };
    const lastBytes = this.#lastBytes + ordered.length - (this.#last.get(channel)?.length ?? 0);
    if (lastBytes > MAX_HELD_BYTES) throw new Error(`the origin holds ${MAX_HELD_BYTES} bytes of last values at most`);
    if (!this.#versions.has(channel)) mustHaveRoom(this.#versions);
    this.#lastBytes = lastBytes;
    if (hasRecord) this.#stamp = Math.max(this.#wallMs(), this.#stamp + 1, this.#believed(lastStamp) + 1);
    const stamp = hasRecord ? `${this.#stamp}` : '0';
    this.#versions.set(channel, version);
    this.#last.set(channel, `${stamp} ${ordered}`);
    setNewest(this.#done, field, id, MAX_CHANNELS);
    this.#append({ c: channel, v: `${version}`, p: id, n: node, s: stamp, o: ordered, h: history }, logEntries);
    return { verdict: 'ok', number: this.#seq };
  }

  lease(asked: LeaseQuestion): LeaseAnswer {
    const { isNews, answer } = this.#leases.ask(asked);
    if (isNews) this.#append({ c: '', p: `${asked.node} ${this.#seq + 1}` }, BELLS_KEPT);
    return answer;
  }

  #believed(stamp: number): number {
    return stamp <= maxMomentMs(this.#wallMs()) ? stamp : 0;
  }

  /** The entries after this number that are there now. */
  after(seq: number, most: number): readonly RawEntry[] {
    if (seq >= this.#seq) return [];
    const first = this.#seq - this.#log.length + 1;
    const from = Math.max(0, seq + 1 - first);
    return this.#log.slice(from, from + most);
  }

  /** @param wake called once, with the next entry @returns cancels that */
  onNext(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  #at(seq: number): RawEntry | undefined {
    return this.#log[seq - (this.#seq - this.#log.length + 1)];
  }

  #append(fields: RawEntry['fields'], most: number): void {
    this.#log.push({ id: `${++this.#seq}-0`, fields });
    this.#logBytes += bytesOf(fields);
    // With some slack, so that the array is not moved for each entry.
    const maxEntries = Math.max(1, Math.min(most, this.#maxEntries));
    let gone = this.#log.length > maxEntries * 1.1 ? this.#log.length - maxEntries : 0;
    let logBytes = this.#logBytes;
    for (let i = 0; i < gone; i++) logBytes -= bytesOf(this.#log[i]!.fields);
    // A node that misses entries reads the last values.
    for (; logBytes > MAX_HELD_BYTES && gone < this.#log.length - 1; gone++)
      logBytes -= bytesOf(this.#log[gone]!.fields);
    this.#logBytes = logBytes;
    if (gone > 0) this.#log.splice(0, gone);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}

function bytesOf(fields: RawEntry['fields']): number {
  return Object.values(fields).reduce((bytes, text) => bytes + text.length, 0);
}

class HeldLogView implements SharedLog {
  readonly #held: HeldLog;
  readonly #onLost: OnLogLost;
  #lost: LogLost | null = null;
  readonly #giveUp = new Set<() => void>();

  constructor(held: HeldLog, onLost: OnLogLost) {
    this.#held = held;
    this.#onLost = onLost;
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  close(reason = CLOSED): void {
    if (this.#lost !== null) return;
    this.#lost = new LogLost(reason);
    for (const giveUp of this.#giveUp) giveUp();
    this.#onLost(this.#lost);
  }

  timeMs = () => this.#ask(() => this.#held.timeMs);
  epoch = () => this.#ask(() => this.#held.epoch);
  hello = (joining: Joining) => this.#ask(() => this.#held.hello(joining));
  commit = (change: Commit) => this.#ask(() => this.#held.commit(change));
  lease = (asked: LeaseQuestion) => this.#ask(() => this.#held.lease(asked));
  nodes = () => this.#ask(() => [...this.#held.nodes]);
  forget = (nodes: readonly string[]) => this.#ask(() => this.#held.forget(nodes));

  last = (channels: readonly string[]) => this.#ask(() => this.#held.last(channels));

  async entriesAfter(seq: number, most: number, waitMs: number): Promise<readonly RawEntry[]> {
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
