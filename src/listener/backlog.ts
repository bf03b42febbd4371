/**
 * How much of each listener's stream was written to its socket and not taken by the other end. With Linux's defaults a connection's send
 * queue holds up to 4 MB, four minutes at 128 kb/s, which the process does not see otherwise. Every few seconds all of them are sampled:
 *
 *   tape   ├───────── lag ─────────┤ edge        a listener whose lag exceeds the tape's is ended, as if its cursor had fallen off;
 *          │ send queue │ on the tape            its player's clock learns that what is queued was not heard
 *          acknowledged cursor
 *
 * Costs nothing per write, and some 3 µs of system time a sample for each connection of the machine, closed ones in TIME_WAIT included.
 * That never exceeds the 250th part of a core: with 16,000 connections samples are 12 s apart, with 80,000 a minute. What the operator
 * can bound with sysctl stands in src/listener/README.md, "The socket's backlog". Owned by the audience.
 */

import type { AudioTape } from '../audio/audio-tape.js';
import type { AlarmHandler, Clock } from '../base/clock.js';
import type { Listener } from './listener.js';
import { endpointsOf, readQueues, TABLES } from './proc-net-tcp.js';

const SAMPLE_MS = 5000;
const LONGEST_PAUSE_MS = 60_000;
/** A line of 150 bytes costs 3 µs; its pause is 250 times as long. The measured time would depend on how busy the machine is. */
const PAUSE_MS_PER_BYTE = (250 * 0.003) / 150;

/** Until the next sample, milliseconds. @param tableBytes length of the tables at the last one */
export function pauseAfter(tableBytes: number): number {
  return Math.min(Math.max(SAMPLE_MS, tableBytes * PAUSE_MS_PER_BYTE), LONGEST_PAUSE_MS);
}

/** A listener's connection and what was in its send queue. */
export class ListenerBacklog {
  readonly listener: Listener;
  readonly tape: AudioTape;
  /** As in the system's tables; null: the connection was closed already. */
  readonly endpoints: string | null;
  /** In the send queue, at the sample with this number. */
  bytes = 0;
  sample = 0;

  constructor(listener: Listener, tape: AudioTape) {
    this.listener = listener;
    this.tape = tape;
    this.endpoints = endpointsOf(listener.socket);
  }

  /**
   * Milliseconds of audio between what the other end has acknowledged and the live edge: on the tape, in the socket's own buffer,
   * and `queuedBytes`. +∞ when that is older than the tape.
   */
  lagMs(queuedBytes: number): number {
    return this.tape.edgeMs - this.#acknowledgedMs(queuedBytes);
  }

  /** Milliseconds of audio that were written to the socket and not acknowledged. */
  unsentMs(queuedBytes: number): number {
    const { listener, tape } = this;
    const last = tape.at(listener.cursor - 1);
    return last === undefined ? 0 : last.endMs - this.#acknowledgedMs(queuedBytes);
  }

  /** The audio time on the tape of the first byte that is not acknowledged. */
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
  /** Length of the tables at the last sample. */
  #tableBytes = 0;

  /** @param onLagged called for each listener whose lag exceeds the tape's */
  constructor(clock: Clock, onLagged: (listener: Listener) => void) {
    this.#clock = clock;
    this.#onLagged = onLagged;
    clock.alarm(clock.now() + SAMPLE_MS, this);
  }

  /** Balance with `forget`. */
  watch(listener: Listener, tape: AudioTape): ListenerBacklog {
    const backlog = new ListenerBacklog(listener, tape);
    if (backlog.endpoints !== null) this.#byEndpoints.set(backlog.endpoints, backlog);
    return backlog;
  }

  forget(backlog: ListenerBacklog): void {
    if (backlog.endpoints !== null && this.#byEndpoints.get(backlog.endpoints) === backlog)
      this.#byEndpoints.delete(backlog.endpoints);
  }

  onAlarm(): void {
    void this.sample().then(() => {
      this.#clock.alarm(this.#clock.now() + pauseAfter(this.#tableBytes), this);
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

  async #sample(): Promise<void> {
    this.#tableBytes = 0;
    if (this.#byEndpoints.size === 0) return;
    const startMs = performance.now();
    this.#begun++;
    this.known = await this.#read();
    this.#done = this.#begun;
    this.tookMs = performance.now() - startMs;
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
    if (backlog.lagMs(bytes) > backlog.tape.lagMs) this.#onLagged(backlog.listener);
    else backlog.listener.player.stick(backlog.unsentMs(bytes), this.#clock.now());
  }
}
