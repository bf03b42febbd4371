/**
 * How much of each listener's stream lies in the kernel: given to the socket, and not taken by the other end. With Linux's defaults that is
 * up to 4 MB a connection, four minutes at 128 kb/s, of which the process sees nothing. A look at all of them every few seconds:
 *
 *   tape   ├───────── lag ─────────┤ edge        a listener whose lag passes the tape's is told to go, as if its cursor had fallen off;
 *          │ in the kernel │ on the tape         its session learns that what lies here cannot have been heard
 *          left            cursor
 *
 * Costs nothing per write, and some 3 µs of the system's time for each connection of the machine, also those that have just ended. That
 * never comes to more than the 250th part of a core: where there are 16,000, looks come every 12 s, and where there are 80,000, once a
 * minute. Where the tables cannot be read (not Linux), nothing is known and only the tape counts. What can bound it is the system's:
 * `sysctl net.ipv4.tcp_notsent_lowat=131072` (a stalled reader at 128 kb/s then hides 10 s instead of 240), or the last figure of
 * `net.ipv4.tcp_wmem`; Node can set neither on a socket. Owned by the audience.
 */

import type { AudioTape } from '../audio/audio-tape.js';
import type { AlarmHandler, Clock } from '../base/clock.js';
import type { Listener } from './listener.js';
import { endpointsOf, readQueues, TABLES } from './proc-net-tcp.js';
import type { Session } from './sessions.js';

const LOOK_MS = 5000;
const LONGEST_PAUSE_MS = 60_000;
/** A line of 150 bytes costs 3 µs; its pause is 250 times as long. What a look took would tell how busy the machine is as well. */
const PAUSE_MS_PER_BYTE = (250 * 0.003) / 150;

/** Until the next look, milliseconds. @param tableBytes how long the tables were at the last one */
export function pauseAfter(tableBytes: number): number {
  return Math.min(Math.max(LOOK_MS, tableBytes * PAUSE_MS_PER_BYTE), LONGEST_PAUSE_MS);
}

/** A listener's connection, as the kernel knows it. */
export class ListenerBacklog {
  readonly listener: Listener;
  readonly tape: AudioTape;
  readonly session: Session | null;
  /** Null: the connection was gone before we asked. */
  readonly endpoints: string | null;
  /** What lay in the kernel at the look with this number. */
  bytes = 0;
  look = 0;

  constructor(listener: Listener, tape: AudioTape, session: Session | null) {
    this.listener = listener;
    this.tape = tape;
    this.session = session;
    this.endpoints = endpointsOf(listener.socket);
  }

  /**
   * Milliseconds of audio between what has left and the live edge: on the tape, in the socket's own buffer, and `kernelBytes`.
   * +∞ when what has left is older than the tape.
   */
  lagMs(kernelBytes: number): number {
    return this.tape.edgeMs - this.#leftMs(kernelBytes);
  }

  /** Milliseconds of audio that were written to the socket and have not left. */
  heldMs(kernelBytes: number): number {
    const { listener, tape } = this;
    const last = tape.at(listener.cursor - 1);
    return last === undefined ? 0 : last.endMs - this.#leftMs(kernelBytes);
  }

  /** The audio time on the tape at which the first byte stands that has not left. */
  #leftMs(kernelBytes: number): number {
    const { listener, tape } = this;
    let left = kernelBytes + listener.socket.writableLength;
    let atMs = tape.at(listener.cursor)?.startMs ?? tape.edgeMs;
    // What is more than it has of the tape is its head, or the text of titles.
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
  /** Whether the last look saw anything; before the first one, it did not. */
  known = false;
  /** What the last look took, milliseconds from its beginning to its end. */
  tookMs = 0;
  readonly #clock: Clock;
  /** By their endpoints. */
  readonly #flows = new Map<string, ListenerBacklog>();
  readonly #onLagged: (listener: Listener) => void;
  /** Numbers of the last look that was begun, and of the last that was finished. */
  #begun = 0;
  #done = 0;
  #looking: Promise<void> | null = null;
  /** How long the tables were at the last look. */
  #tableBytes = 0;

  /** @param onLagged told of each listener whose lag has passed the tape's */
  constructor(clock: Clock, onLagged: (listener: Listener) => void) {
    this.#clock = clock;
    this.#onLagged = onLagged;
    clock.alarm(clock.now() + LOOK_MS, this);
  }

  /** Balance with `forget`. */
  watch(listener: Listener, tape: AudioTape, session: Session | null): ListenerBacklog {
    const flow = new ListenerBacklog(listener, tape, session);
    if (flow.endpoints !== null) this.#flows.set(flow.endpoints, flow);
    return flow;
  }

  forget(flow: ListenerBacklog): void {
    if (flow.endpoints !== null && this.#flows.get(flow.endpoints) === flow) this.#flows.delete(flow.endpoints);
  }

  onAlarm(): void {
    void this.look().then(() => {
      this.#clock.alarm(this.#clock.now() + pauseAfter(this.#tableBytes), this);
    });
  }

  /** Looks now, unless it does already; resolves when it is done. */
  look(): Promise<void> {
    return (this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    }));
  }

  /** Listeners whose lag is at most so many milliseconds, for each of `boundsMs` (ascending); the last may be +∞. */
  lags(boundsMs: readonly number[]): number[] {
    const counts = boundsMs.map(() => 0);
    for (const flow of this.#flows.values()) {
      const lagMs = flow.lagMs(this.#bytesOf(flow));
      for (let i = boundsMs.length - 1; i >= 0 && lagMs <= boundsMs[i]!; i--) counts[i]!++;
    }
    return counts;
  }

  /** What lay in the kernel at the last look, bytes by channel. */
  bytesByChannel(): Map<string, number> {
    const bytes = new Map<string, number>();
    for (const flow of this.#flows.values()) {
      const { channel } = flow.listener;
      bytes.set(channel, (bytes.get(channel) ?? 0) + this.#bytesOf(flow));
    }
    return bytes;
  }

  /** At the last look; what is not in its table has nothing there. */
  #bytesOf(flow: ListenerBacklog): number {
    return flow.look >= this.#done ? flow.bytes : 0;
  }

  async #look(): Promise<void> {
    this.#tableBytes = 0;
    if (this.#flows.size === 0) return;
    const startMs = performance.now();
    this.#begun++;
    this.known = await this.#read();
    this.#done = this.#begun;
    this.tookMs = performance.now() - startMs;
  }

  /** False where a table cannot be read: another system, or no file to spare for the moment. */
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
    for (const endpoints of this.#flows.keys()) if (endpoints.length === endpointsLength) return true;
    return false;
  }

  #note(endpoints: string, bytes: number): void {
    const flow = this.#flows.get(endpoints);
    if (flow === undefined) return;
    flow.bytes = bytes;
    flow.look = this.#begun;
    if (flow.lagMs(bytes) > flow.tape.lagMs) this.#onLagged(flow.listener);
    else flow.session?.stuck(flow.heldMs(bytes), this.#clock.now());
  }
}
