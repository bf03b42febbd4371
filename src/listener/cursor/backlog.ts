/**
 * How much of each listener's stream was written to its socket and not taken by the other end. With Linux's defaults a connection's send
 * queue holds up to 4 MB, four minutes at 128 kb/s, which the process does not see otherwise. Every few seconds all of them are sampled, and more
 * often where a session (a listener with a metaid) has joined, or something lies in its queue:
 *
 *   tape   ├───────── lag ─────────┤ edge        a listener whose lag exceeds the tape's is ended, as if its cursor had fallen off;
 *          │ send queue │ on the tape            its player's clock learns what it cannot have heard
 *          acknowledged cursor
 *
 * Costs nothing per write, and some 3 µs of system time a sample for each connection of the machine, closed ones in TIME_WAIT included,
 * and 5 ms for all of them together: the 250th part of a core at most (sample-budget.ts). With 16,000 connections samples are 12 s apart, with
 * 80,000 a minute. What the operator can bound with sysctl stands in src/listener/README.md, "The socket's backlog". Owned by the audience.
 */

import type { AudioTape } from '../../audio/tape/audio-tape.js';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import type { Listener } from './listener.js';
import { endpointsOf, readQueues, TABLES } from './proc-net-tcp.js';
import { SampleBudget } from './sample-budget.js';

const SAMPLE_MS = 5000;
/** While something lies in the queue of a session: so long before its player may have nothing to play, and so often then. */
const SHORT_MS = 200;
/** What has had nothing to play for a while is looked at after this part of that while, so that a long stall leaves something to spend. */
const DRY_PART = 1 / 32;
/** While a session has not begun. */
const BEGINNING_MS = 1000;
/** The first sample after a session has joined: its player begins when a first block is there. */
const JOINED_MS = 80;
/** A title waits for a sample that is late no longer than this; where samples are rarer, it is taken for heard at its time. */
const LONGEST_WAIT_MS = 2000;

/** A listener's connection and what was in its send queue. */
export class ListenerBacklog {
  readonly listener: Listener;
  readonly tape: AudioTape;
  /** As in the system's tables; null: the connection was closed already. */
  readonly endpoints: string | null;
  /** In the send queue, at the sample with this number. */
  bytes = 0;
  sample = 0;
  /** Whether it is a session that has just joined, or in whose queue something lay. */
  isFollowed = false;
  /** While it is followed: the last sample, what was acknowledged then, and the position up to which that was whole blocks. */
  #seenMs: number;
  #seenBytes = 0;
  #seenPositionMs = 0;
  /** Whether nothing was acknowledged between the last two samples. */
  #isStill = false;
  /** Since when its player has had nothing to play; +∞ where it has. */
  #drySinceMs = Number.POSITIVE_INFINITY;

  constructor(listener: Listener, tape: AudioTape, nowMs: number) {
    this.listener = listener;
    this.tape = tape;
    this.endpoints = endpointsOf(listener.socket);
    this.#seenPositionMs = listener.baseMs;
    this.#seenMs = nowMs;
  }

  /**
   * Milliseconds of audio between what the other end has acknowledged and the live edge: on the tape, in the socket's own buffer,
   * and `queuedBytes`. +∞ when that is older than the tape.
   */
  lagMs(queuedBytes: number): number {
    return this.tape.edgeMs - this.#acknowledgedMs(queuedBytes);
  }

  /**
   * Corrects the clock of its player, which cannot be further than the whole blocks that are acknowledged. The moment at which the next block was
   * whole is interpolated between two samples.
   * @param waitMs for how long a title that may not have been heard waits, past its time, for the next sample
   * @returns milliseconds until the next sample is worth its cost
   */
  look(queuedBytes: number, nowMs: number, waitMs: number): number {
    const { player, bytes, socket, joinMs, baseMs } = this.listener;
    if (joinMs < 0) return Number.POSITIVE_INFINITY;
    this.listener.catchUp(nowMs);
    const { blockBytes } = player;
    const acknowledged = Math.max(0, bytes - queuedBytes - socket.writableLength);
    const partBytes = acknowledged % blockBytes;
    const positionMs = Math.max(this.#seenPositionMs, this.#acknowledgedMs(queuedBytes + partBytes) - joinMs + baseMs);
    const gained = acknowledged - this.#seenBytes;
    const missing = blockBytes - (this.#seenBytes % blockBytes);
    if (this.isFollowed && gained >= missing) {
      // What stood still has gone on at some moment since the last sample. All of a burst that came before the first one came soon.
      const fromMs = this.#isStill ? (this.#seenMs + nowMs) / 2 : this.#seenMs;
      const isSoon = this.#seenBytes === 0 && waitMs === 0;
      const toMs = isSoon ? Math.min(nowMs, this.#seenMs + JOINED_MS) : nowMs;
      player.limit(this.#seenPositionMs, fromMs + (Math.max(0, toMs - fromMs) * missing) / gained);
    }
    player.limit(positionMs, nowMs);
    const leftMs = positionMs - player.positionAt(nowMs);
    player.had(positionMs, waitMs === 0 ? nowMs : nowMs + leftMs + waitMs);
    this.#isStill = this.isFollowed && gained === 0;
    this.#seenMs = nowMs;
    this.#seenBytes = acknowledged;
    this.#seenPositionMs = positionMs;
    this.listener.session?.release(nowMs);
    this.#drySinceMs = leftMs > 0 ? Number.POSITIVE_INFINITY : Math.min(this.#drySinceMs, nowMs);
    return Math.max(SHORT_MS, leftMs > 0 ? leftMs - SHORT_MS : (nowMs - this.#drySinceMs) * DRY_PART);
  }

  /** Its queue is empty: the player has had all that was written. @param nowMs of the sample */
  drained(nowMs: number): void {
    this.look(0, nowMs, 0);
    this.isFollowed = false;
  }

  /** The audio time on the tape of the first byte that is not acknowledged. @param queuedBytes beside the socket's own buffer */
  #acknowledgedMs(queuedBytes: number): number {
    const { listener, tape } = this;
    let left = queuedBytes + listener.socket.writableLength;
    let atMs = tape.at(listener.cursor)?.startMs ?? tape.edgeMs;
    // What exceeds its part of the tape is the answer's head, or text of titles.
    for (let seq = listener.cursor - 1; left > 0 && seq >= listener.firstSeq; seq--) {
      const segment = tape.at(seq);
      if (segment === undefined) return Number.NEGATIVE_INFINITY;
      const { startMs, endMs } = segment;
      const { length } = listener.icy ? segment.bytes : segment.plain;
      atMs = left < length ? endMs - ((endMs - startMs) * left) / length : startMs;
      left -= length;
    }
    return atMs;
  }
}

export class SocketBacklog implements AlarmHandler {
  /** Whether the last sample could read the tables. */
  known = false;
  /** Duration of the last sample, milliseconds. */
  tookMs = 0;
  readonly #clock: Clock;
  readonly #byEndpoints = new Map<string, ListenerBacklog>();
  readonly #onLagged: (listener: Listener) => void;
  /** Numbers of the last sample that was begun, and of the last that was finished. */
  #begun = 0;
  #done = 0;
  #sampling: Promise<void> | null = null;
  readonly #budget: SampleBudget;
  /** Length of the tables, of the present sample. */
  #tableBytes = 0;
  readonly #followed = new Set<ListenerBacklog>();
  /** When the next sample should be, after the present one. */
  #wantedMs = SAMPLE_MS;
  /** The next sample; null while one is under way. It must not be sooner than `#freeMs`. */
  #alarm: Alarm | null;
  #freeMs = Number.NEGATIVE_INFINITY;

  /** @param onLagged called for each listener whose lag exceeds the tape's */
  constructor(clock: Clock, onLagged: (listener: Listener) => void) {
    this.#clock = clock;
    this.#onLagged = onLagged;
    this.#budget = new SampleBudget(SAMPLE_MS, clock.now());
    this.#alarm = clock.alarm(clock.now() + SAMPLE_MS, this);
  }

  /** Balance with `forget`. */
  watch(listener: Listener, tape: AudioTape): ListenerBacklog {
    const backlog = new ListenerBacklog(listener, tape, this.#clock.now());
    if (backlog.endpoints === null) return backlog;
    this.#byEndpoints.set(backlog.endpoints, backlog);
    if (listener.session !== null) this.#followNew(backlog);
    return backlog;
  }

  forget(backlog: ListenerBacklog): void {
    this.#followed.delete(backlog);
    if (backlog.endpoints !== null && this.#byEndpoints.get(backlog.endpoints) === backlog)
      this.#byEndpoints.delete(backlog.endpoints);
  }

  onAlarm(): void {
    this.#alarm = null;
    void this.sample().then(() => {
      const nowMs = this.#clock.now();
      this.#freeMs = nowMs + this.#budget.pauseMs(SHORT_MS);
      this.#alarm = this.#clock.alarm(nowMs + this.#budget.pauseMs(this.#wantedMs), this);
    });
  }

  /** Samples now, unless a sample is under way; resolves when it is done. Never rejects. */
  sample(): Promise<void> {
    return (this.#sampling ??= this.#sample().finally(() => {
      this.#sampling = null;
    }));
  }

  /** How many listeners lag at most this many milliseconds, for each of `boundsMs` (ascending); the last may be +∞. */
  lags(boundsMs: readonly number[]): number[] {
    const counts = boundsMs.map(() => 0);
    for (const backlog of this.#byEndpoints.values()) {
      const lagMs = backlog.lagMs(this.#bytesOf(backlog));
      for (let i = boundsMs.length - 1; i >= 0 && lagMs <= boundsMs[i]!; i--) counts[i]!++;
    }
    return counts;
  }

  /** In the send queues at the last sample, bytes by channel. */
  bytesByChannel(): Map<string, number> {
    const bytes = new Map<string, number>();
    for (const backlog of this.#byEndpoints.values()) {
      const { channel } = backlog.listener;
      bytes.set(channel, (bytes.get(channel) ?? 0) + this.#bytesOf(backlog));
    }
    return bytes;
  }

  /** At the last sample; a connection that is not in the table has an empty queue. */
  #bytesOf(backlog: ListenerBacklog): number {
    return backlog.sample >= this.#done ? backlog.bytes : 0;
  }

  #followNew(backlog: ListenerBacklog): void {
    this.#follow(backlog);
    // A sample that is under way may have passed it.
    backlog.sample = this.#begun;
    this.#wantedMs = SHORT_MS;
    const dueMs = Math.max(this.#clock.now() + JOINED_MS, this.#freeMs);
    if (this.#alarm === null || this.#alarm.dueMs <= dueMs) return;
    this.#alarm.cancel();
    this.#alarm = this.#clock.alarm(dueMs, this);
  }

  #follow(backlog: ListenerBacklog): void {
    backlog.isFollowed = true;
    this.#followed.add(backlog);
  }

  async #sample(): Promise<void> {
    this.#tableBytes = 0;
    this.#wantedMs = SAMPLE_MS;
    if (this.#byEndpoints.size === 0) return;
    const startMs = performance.now();
    this.#begun++;
    this.known = await this.#read();
    this.#releaseDrained();
    this.#done = this.#begun;
    this.tookMs = performance.now() - startMs;
    this.#budget.spend(this.#clock.now(), this.#tableBytes, this.tookMs);
  }

  /** False where a table cannot be read: not Linux, or no file descriptor is free. */
  async #read(): Promise<boolean> {
    try {
      for (const table of TABLES) {
        if (!this.#has(table.endpointsLength)) continue;
        this.#tableBytes += await readQueues(table, (endpoints, bytes) => this.#note(endpoints, bytes));
      }
      return true;
    } catch {
      return false;
    }
  }

  #has(endpointsLength: number): boolean {
    for (const endpoints of this.#byEndpoints.keys()) if (endpoints.length === endpointsLength) return true;
    return false;
  }

  #note(endpoints: string, bytes: number): void {
    const backlog = this.#byEndpoints.get(endpoints);
    if (backlog === undefined) return;
    backlog.bytes = bytes;
    backlog.sample = this.#begun;
    const { listener, tape } = backlog;
    if (backlog.lagMs(bytes) > tape.lagMs) {
      this.#onLagged(listener);
      return;
    }
    const nowMs = this.#clock.now();
    const isInTime = this.#budget.pauseMs(SHORT_MS) <= LONGEST_WAIT_MS;
    const wantedMs = backlog.look(bytes, nowMs, isInTime ? LONGEST_WAIT_MS : 0);
    if (listener.session === null) return;
    this.#follow(backlog);
    this.#wantedMs = Math.min(this.#wantedMs, wantedMs);
  }

  /** Those that are followed, have begun, and were not in the table: their queues are empty. Where it could not be read nothing is known of them. */
  #releaseDrained(): void {
    const nowMs = this.#clock.now();
    for (const backlog of this.#followed) {
      const isWaiting = backlog.sample === this.#begun || backlog.listener.joinMs < 0;
      if (isWaiting && this.known) {
        if (backlog.listener.joinMs < 0) this.#wantedMs = Math.min(this.#wantedMs, BEGINNING_MS);
        continue;
      }
      this.#followed.delete(backlog);
      if (this.known) backlog.drained(nowMs);
      else backlog.isFollowed = false;
    }
  }
}
