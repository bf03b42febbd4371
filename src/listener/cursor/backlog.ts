/**
 * How much of each listener's stream lies in its socket's send queue. With Linux's defaults that holds up to 4 MB, four minutes at 128 kb/s,
 * which the process cannot see otherwise. All queues are sampled every few seconds, and more often when a session (a listener with a metaid)
 * has joined or has something in its queue:
 *
 *   tape   ├───────── lag ─────────┤ edge        a listener whose lag exceeds the tape's is ended, as if its cursor had fallen off;
 *          │ send queue │ on the tape            its player's clock learns what it cannot have heard
 *          acknowledged cursor
 *
 * A sample costs 5 ms, and 3 µs of system time for each connection of the machine, including those in TIME_WAIT: at most 1/250 of a core
 * (sample-budget.ts). With 16,000 connections samples are 12 s apart, with 80,000 a minute. Limits that an operator can set with sysctl:
 * src/listener/README.md, "The socket's backlog". Owned by the audience.
 */

import type { AudioTape } from '../../audio/tape/audio-tape.js';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import { nextWhole } from '../../base/whole-time.js';
import type { Listener } from './listener.js';
import { endpointsOf, readQueues, TABLES } from './proc-net-tcp.js';
import { SampleBudget } from './sample-budget.js';

const SAMPLE_MS = 5000;
/** A session with a queue is sampled this long before its player may run dry, and this often from then on. */
const MIN_SAMPLE_MS = 200;
/** A dry player is sampled after this fraction of the time that it has been dry, so that a long stall does not use up the budget. */
const DRY_FRACTION = 1 / 32;
/** Between two samples of a session that has not begun. */
const BEGINNING_MS = 1000;
/** The first sample after a session has joined: its player begins once it has a first block. */
const JOINED_MS = 80;
/** The longest that a title waits for a late sample; if samples are rarer, the title counts as heard at its time. */
const MAX_WAIT_MS = 2000;

/** A listener's connection and what was in its send queue. */
export class ListenerBacklog {
  readonly listener: Listener;
  readonly tape: AudioTape;
  /** As in the system's tables; null: the connection was closed already. */
  readonly endpoints: string | null;
  /** In the send queue at sample number `sample`. */
  bytes = 0;
  sample = 0;
  /** Whether it is a session that has just joined, or had something in its queue. */
  isFollowed = false;
  /** While followed: the last sample, the bytes acknowledged then, and the position where their last whole block ended. */
  #seenMs: number;
  #seenBytes = 0;
  #seenPositionMs = 0;
  /** Nothing was acknowledged between the last two samples. */
  #isStill = false;
  /** When its player ran dry; +∞: it has audio. */
  #drySinceMs = Number.POSITIVE_INFINITY;

  constructor(listener: Listener, tape: AudioTape, nowMs: number) {
    this.listener = listener;
    this.tape = tape;
    this.endpoints = endpointsOf(listener.socket);
    this.#seenPositionMs = listener.playback.baseMs;
    this.#seenMs = nowMs;
  }

  /** Milliseconds of audio between what the other end has acknowledged and the live edge. +∞: more than the tape. */
  lagMs(queuedBytes: number): number {
    return this.tape.edgeMs - this.#acknowledgedMs(queuedBytes);
  }

  /**
   * Corrects its player's clock by the blocks that are wholly acknowledged, interpolating between two samples. @returns ms until the next sample is
   * worth its cost @param waitMs how long past its time a title that may not have been heard waits for the next sample
   */
  look(queuedBytes: number, nowMs: number, waitMs: number): number {
    const { bytes, socket, playback } = this.listener;
    const { player, joinMs, baseMs } = playback;
    if (joinMs < 0) return Number.POSITIVE_INFINITY;
    playback.catchUp(nowMs);
    const { blockBytes } = player;
    const acknowledged = Math.max(0, bytes - queuedBytes - socket.writableLength);
    const partBytes = acknowledged % blockBytes;
    const positionMs = Math.max(this.#seenPositionMs, this.#acknowledgedMs(queuedBytes + partBytes) - joinMs + baseMs);
    const gained = acknowledged - this.#seenBytes;
    const missing = blockBytes - (this.#seenBytes % blockBytes);
    if (this.isFollowed && gained >= missing) {
      // A stalled player resumed at some moment since the last sample. A burst before the first sample came at once.
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
    return Math.max(MIN_SAMPLE_MS, leftMs > 0 ? leftMs - MIN_SAMPLE_MS : (nowMs - this.#drySinceMs) * DRY_FRACTION);
  }

  /** Its queue is empty: the player has all that was written. @param nowMs of the sample */
  drained(nowMs: number): void {
    this.look(0, nowMs, 0);
    this.isFollowed = false;
  }

  /** Audio time on the tape of the first byte not acknowledged. @param queuedBytes besides the socket's own buffer */
  #acknowledgedMs(queuedBytes: number): number {
    const { listener, tape } = this;
    let left = queuedBytes + listener.socket.writableLength;
    let atMs = tape.at(listener.cursor)?.startMs ?? tape.edgeMs;
    // Bytes beyond its segments are the response head, or text of titles.
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
  /** Numbers of the last sample begun, and of the last one finished. */
  #begun = 0;
  #done = 0;
  #sampling: Promise<void> | null = null;
  readonly #budget: SampleBudget;
  /** Length of the tables in the present sample. */
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
      this.#freeMs = nowMs + this.#budget.pauseMs(MIN_SAMPLE_MS);
      const dueMs = nowMs + this.#budget.pauseMs(this.#wantedMs);
      this.#alarm = this.#clock.alarm(this.#byEndpoints.size === 0 ? nextWhole(SAMPLE_MS, nowMs) : dueMs, this);
    });
  }

  /** Samples now, unless a sample is under way; resolves when it is done. Never rejects. */
  sample(): Promise<void> {
    return (this.#sampling ??= this.#sample().finally(() => {
      this.#sampling = null;
    }));
  }

  /** The number of listeners that lag at most each of `boundsMs` (ascending; the last may be +∞). */
  lags(boundsMs: readonly number[]): number[] {
    const counts = boundsMs.map(() => 0);
    for (const backlog of this.#byEndpoints.values()) {
      const lagMs = backlog.lagMs(this.#bytesOf(backlog));
      for (let i = boundsMs.length - 1; i >= 0 && lagMs <= boundsMs[i]!; i--) counts[i]!++;
    }
    return counts;
  }

  /** Bytes in the send queues at the last sample, by channel. */
  bytesByChannel(): Map<string, number> {
    const bytes = new Map<string, number>();
    for (const backlog of this.#byEndpoints.values()) {
      const { channel } = backlog.listener;
      bytes.set(channel, (bytes.get(channel) ?? 0) + this.#bytesOf(backlog));
    }
    return bytes;
  }

  /** A connection that is not in the table has an empty queue. */
  #bytesOf(backlog: ListenerBacklog): number {
    return backlog.sample >= this.#done ? backlog.bytes : 0;
  }

  #followNew(backlog: ListenerBacklog): void {
    this.#follow(backlog);
    // A sample under way may have passed it.
    backlog.sample = this.#begun;
    this.#wantedMs = MIN_SAMPLE_MS;
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

  /** False: a table cannot be read (not Linux, or no file descriptor is free). */
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
    const isInTime = this.#budget.pauseMs(MIN_SAMPLE_MS) <= MAX_WAIT_MS;
    const wantedMs = backlog.look(bytes, nowMs, isInTime ? MAX_WAIT_MS : 0);
    if (listener.session === null) return;
    this.#follow(backlog);
    this.#wantedMs = Math.min(this.#wantedMs, wantedMs);
  }

  /** Followed sessions that have begun and are not in the table have empty queues; if it could not be read, nothing is known of them. */
  #releaseDrained(): void {
    const nowMs = this.#clock.now();
    for (const backlog of this.#followed) {
      const isWaiting = backlog.sample === this.#begun || backlog.listener.playback.joinMs < 0;
      if (isWaiting && this.known) {
        if (backlog.listener.playback.joinMs < 0) this.#wantedMs = Math.min(this.#wantedMs, BEGINNING_MS);
        continue;
      }
      this.#followed.delete(backlog);
      if (this.known) backlog.drained(nowMs);
      else backlog.isFollowed = false;
    }
  }
}
