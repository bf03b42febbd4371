/**
 * The shared counts at the hub: adds up the counts of each process, and sends to each the sum of the others. The hub itself is one of the processes.
 *
 *   worker 1: a 3 ──►┐                    ┌──► worker 2: a 4 (3 + 1)
 *   hub:      a 1 ───┴── of each ── sums ─┴──► worker 1: a 1 + …
 *
 * Counts are absolute, so that none is added twice; those of an ended process are subtracted. Invariant: the counts known of a process are those that
 * it has sent on its present link. Owned by HubLinks.
 */

import type { Clock } from '../../base/clock.js';
import {
  isKnownName,
  type NoticeName,
  type PeakKey,
  Tallies,
  type TallyName,
  type TallyRows,
} from '../../base/tallies.js';
import { TallyAlarm } from './tally-alarm.js';
import { MAX_TALLY_ROWS, TALLY_MS, TALLY_PASS_MS, type TallyMessage } from './tally-messages.js';
import type { TallySender } from './worker-tallies.js';

/** A new hub waits until all workers have sent their counts before it sends any; until then workers use the counts they know. */
const SETTLE_MS = 4 * TALLY_MS;

/** One process. */
interface Participant {
  /** Its own counts, by name and key. */
  readonly own: Map<TallyName, Map<string, number>>;
  /** Number of keys of all names. */
  keys: number;
  /** The counts of the others that are to be sent to it. */
  readonly others: Tallies;
  readonly sender: TallySender;
  isFirst: boolean;
}

export class HubTallies {
  readonly #tallies: Tallies;
  readonly #participants = new Map<TallySender, Participant>();
  readonly #peaks = new Map<PeakKey, number>();
  readonly #hub: Participant;
  readonly #alarm: TallyAlarm;
  readonly #settledMs: number;
  readonly #remembered: number;
  readonly #maxKeys: () => number;
  readonly #has: (channel: string) => boolean;

  /**
   * @param tallies the hub's own @param remembered maximum number of addresses whose notices wait for a worker
   * @param maxKeys maximum number of keys of one process, and maximum of a peak @param has whether the channel exists
   */
  constructor(
    tallies: Tallies,
    remembered: number,
    clock: Clock,
    maxKeys: () => number = () => Number.POSITIVE_INFINITY,
    has: (channel: string) => boolean = () => true,
  ) {
    this.#maxKeys = maxKeys;
    this.#has = has;
    this.#tallies = tallies;
    this.#remembered = remembered;
    this.#alarm = new TallyAlarm(clock, TALLY_PASS_MS, (nowMs) => this.#sendAll(nowMs));
    this.#alarm.start();
    this.#settledMs = clock.now() + SETTLE_MS;
    tallies.share(this.#onChange);
    this.#hub = this.#enter({
      isFull: false,
      send: ({ rows, isFirst }) => tallies.apply(rows, isFirst),
    });
  }

  /** A worker has linked. */
  enter(sender: TallySender): void {
    this.#enter(sender);
  }

  /** Its link has ended. */
  leave(sender: TallySender): void {
    const gone = this.#participants.get(sender);
    if (gone === undefined) return;
    this.#participants.delete(sender);
    for (const [name, keys] of gone.own) for (const [key, count] of keys) this.#add(gone, name, key, -count);
  }

  /** Counts that a worker has sent. */
  hear(sender: TallySender, { rows }: TallyMessage): void {
    const participant = this.#participants.get(sender);
    if (participant !== undefined) this.#hear(participant, rows);
  }

  /** The sum over all processes but these. */
  without(senders: ReadonlySet<TallySender>, name: TallyName, key: string): number {
    let sum = 0;
    for (const [sender, { own }] of this.#participants) {
      if (!senders.has(sender)) sum += own.get(name)?.get(key) ?? 0;
    }
    return sum;
  }

  /** Sends changed counts to all. */
  pass(nowMs: number): void {
    this.#alarm.run(nowMs);
  }

  close(): void {
    this.#alarm.stop();
  }

  readonly #onChange = () => this.#alarm.onChange();

  /** @returns whether there may be more to be sent soon */
  #sendAll(nowMs: number): boolean {
    const own = this.#tallies.take(MAX_TALLY_ROWS);
    if (own !== null) this.#hear(this.#hub, own);
    let isMore = own !== null;
    for (const { sender, others, isFirst } of this.#participants.values()) {
      if (sender.isDeaf) continue;
      if (sender.isFull || (isFirst && nowMs < this.#settledMs)) {
        isMore = true;
        continue;
      }
      const rows = others.take(MAX_TALLY_ROWS);
      if (rows === null && !isFirst) continue;
      isMore = true;
      sender.send({ type: 'tallies', rows: rows ?? { counts: [], peaks: [], notices: [] }, isFirst });
      this.#participants.get(sender)!.isFirst = false;
    }
    return isMore;
  }

  #enter(sender: TallySender): Participant {
    const others = new Tallies(this.#remembered);
    others.share(this.#onChange);
    for (const { own } of sender.isDeaf ? [] : this.#participants.values()) {
      for (const [name, keys] of own) for (const [key, count] of keys) others.tally(name).add(key, count);
    }
    for (const [key, count] of sender.isDeaf ? [] : this.#peaks) others.raise(key, count);
    const participant: Participant = { own: new Map(), keys: 0, others, sender, isFirst: true };
    this.#participants.set(sender, participant);
    // Its first message is sent even if it is empty.
    this.#onChange();
    return participant;
  }

  #hear(from: Participant, { counts, peaks, notices }: TallyRows): void {
    for (const [said, rows] of counts) {
      const name = said as TallyName;
      let keys = from.own.get(name);
      if (keys === undefined) {
        if (!isKnownName(name, this.#has)) continue;
        from.own.set(name, (keys = new Map()));
      }
      for (const [key, count] of rows) {
        const isNew = !keys.has(key);
        // Keys past the limit are not counted.
        if (isNew && count !== 0 && from.keys >= this.#maxKeys()) continue;
        this.#add(from, name, key, count - (keys.get(key) ?? 0));
        if (count === 0) from.keys -= Number(keys.delete(key));
        else {
          keys.set(key, count);
          from.keys += Number(isNew);
        }
      }
    }
    for (const [said, count] of peaks) {
      const key = said as PeakKey;
      const known = this.#peaks.get(key);
      if (count <= (known ?? 0) || count > this.#maxKeys()) continue;
      if (known === undefined && !isKnownName(key, this.#has)) continue;
      this.#peaks.set(key, count);
      for (const each of this.#hearing(from)) each.others.raise(key, count);
    }
    for (const [said, rows] of notices) {
      const name = said as NoticeName;
      if (!isKnownName(name, this.#has)) continue;
      for (const each of this.#hearing(from)) {
        const others = each.others.notices(name);
        for (const [key, amount] of rows) others.add(key, amount);
      }
    }
  }

  /** All others that are sent counts. */
  *#hearing(from: Participant): Iterable<Participant> {
    for (const each of this.#participants.values()) if (each !== from && !each.sender.isDeaf) yield each;
  }

  #add(from: Participant, name: TallyName, key: string, change: number): void {
    if (change === 0) return;
    for (const each of this.#hearing(from)) each.others.tally(name).add(key, change);
  }
}
