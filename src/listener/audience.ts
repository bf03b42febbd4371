/**
 * All listeners of this process. Each is written to once a second, in one of 25 slots, so that a crowd's writes are spread over
 * the second and never block the loop.
 *
 *   tick 40 ms ─► slot 0 │ slot 1 │ … │ slot 24 │ slot 0 …      a late tick makes up for the slots it missed, each once
 *
 * Owns every listener's socket from `join` until its ending, which is reported once (src/listener/README.md, "Endings"). The one writer of
 * ChannelAudio's `listeners` and `playing`.
 */

import type { Socket } from 'node:net';
import type { AudioTape } from '../audio/audio-tape.js';
import type { ChannelAudio } from '../audio/channel-audio.js';
import type { AlarmHandler, Clock } from '../base/clock.js';
import { TICK_MS } from '../base/clock.js';
import { SocketBacklog } from './backlog.js';
import { ENDINGS, type Ending } from './ending.js';
import { LateBlocks } from './late-blocks.js';
import { Listener } from './listener.js';
import type { Session, Sessions } from './sessions.js';
import { TypicalLag } from './typical-lag.js';

/** One turn takes a second, the playing time of a usual segment. */
const SLOTS = 1000 / TICK_MS;
/** The last bytes of a polite ending may take this long. */
const LINGER_MS = 10_000;

/** How a listener's stream ended. */
export interface ListenerEnd {
  readonly ending: Ending;
  /** Given to its socket, without the head. */
  readonly bytes: number;
  /** Since it joined. */
  readonly lastedMs: number;
}

export interface JoinOptions {
  readonly icy: boolean;
  readonly burstMs: number;
  readonly session: Session | null;
  /** Milliseconds of audio that its player reads before it plays it, where it shows titles when it reads them; else 0. */
  readonly readAheadMs?: number;
  /** How long it may listen; +∞: for ever. */
  readonly limitMs: number;
  /** Called once. */
  onEnd(end: ListenerEnd): void;
}

export class Audience implements AlarmHandler {
  readonly #clock: Clock;
  readonly #sessions: Sessions;
  /** What the listeners' sockets hold that their players have not taken. */
  readonly backlog: SocketBacklog;
  readonly #slots: Listener[][] = Array.from({ length: SLOTS }, () => []);
  readonly #typicalLag: TypicalLag;
  #doneTick: number;
  #count = 0;
  /** Bytes that were given to sockets of listeners that have ended; live ones carry their own count. */
  #endedBytes = new Map<string, number>();
  readonly endings: Record<Ending, number> = {
    left: 0,
    lagged: 0,
    broken: 0,
    format: 0,
    silence: 0,
    overtime: 0,
    shutdown: 0,
  };

  constructor(clock: Clock, sessions: Sessions) {
    this.#clock = clock;
    this.#sessions = sessions;
    this.backlog = new SocketBacklog(clock, (listener) => listener.end('lagged'));
    this.#typicalLag = new TypicalLag(clock, this.#slots);
    this.#doneTick = Math.floor(clock.now() / TICK_MS);
    clock.everyTick(this);
  }

  get count(): number {
    return this.#count;
  }

  /** How much later than the live edge the median listener of a channel hears, milliseconds of audio; null: nobody plays. */
  typicalLagMs({ key, delayedMs }: Pick<ChannelAudio, 'key' | 'delayedMs'>): number | null {
    const lagMs = this.#typicalLag.typicalLagMs(key);
    return lagMs === null ? null : lagMs + delayedMs;
  }

  /** Takes a place on the channel, before there is a tape: the first one wakes a source on demand. Balance with `leave`. */
  enter(channel: ChannelAudio): void {
    this.#count++;
    if (channel.listeners++ === 0) channel.want(true);
  }

  leave(channel: ChannelAudio): void {
    this.#count--;
    if (--channel.listeners === 0) channel.want(false);
  }

  /**
   * Begins to play: `head` is the answer's head, the channel has a tape, `enter` was called for this socket. The audience leaves
   * the channel when the listener ends.
   */
  join(socket: Socket, channel: ChannelAudio, head: Buffer, options: JoinOptions): Listener {
    const tape = channel.tape!;
    channel.playing++;
    const nowMs = this.#clock.now();
    const cursor = tape.joinAt(options.burstMs);
    const listener = new Listener(socket, tape, channel.key, cursor, options.icy, options.session, nowMs);
    this.#showLate(listener, tape, options);
    this.#place(listener);
    const backlog = this.backlog.watch(listener, tape);
    const onAlarm = () => listener.end('overtime');
    const hasLimit = options.limitMs < Number.POSITIVE_INFINITY;
    const alarm = hasLimit ? this.#clock.alarm(nowMs + options.limitMs, { onAlarm }) : null;
    listener.end = (ending) => {
      alarm?.cancel();
      listener.late?.stop();
      this.backlog.forget(backlog);
      this.#end(listener, channel, options, ending);
    };
    // A player that closes over unread audio resets the connection: it has left like any other.
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      listener.end(code === 'ECONNRESET' || code === 'EPIPE' ? 'left' : 'broken'),
    );
    socket.on('close', () => listener.end('left'));
    // A player that closes its half has stopped listening.
    socket.on('end', () => listener.end('left'));
    socket.resume();
    listener.start(head, nowMs);
    return listener;
  }

  /** Writes to the listeners of the slots that are due. */
  onAlarm(nowMs: number): void {
    const tick = Math.floor(nowMs / TICK_MS);
    for (let t = Math.max(this.#doneTick + 1, tick - SLOTS + 1); t <= tick; t++)
      this.#advance(this.#slots[t % SLOTS]!, nowMs);
    this.#doneTick = tick;
  }

  /** Ends every listener of a channel (all channels: undefined). */
  endAll(ending: Ending, channel?: string): void {
    for (const slot of this.#slots) {
      for (let i = slot.length - 1; i >= 0; i--) {
        const listener = slot[i]!;
        if (channel === undefined || listener.channel === channel) listener.end(ending);
      }
    }
  }

  /** Bytes given to the sockets of each channel's listeners since start. */
  bytesByChannel(): Map<string, number> {
    const bytes = new Map(this.#endedBytes);
    for (const slot of this.#slots) {
      for (const listener of slot) bytes.set(listener.channel, (bytes.get(listener.channel) ?? 0) + listener.bytes);
    }
    return bytes;
  }

  /** Backwards: an ending moves the last listener of the slot into the gap. */
  #advance(slot: Listener[], nowMs: number): void {
    for (let i = slot.length - 1; i >= 0; i--) {
      const listener = slot[i]!;
      if (!listener.advance(nowMs)) listener.end(listener.fallen);
    }
  }

  #closeSocket(socket: Socket, ending: Ending): void {
    // A FIN would first deliver what the send queue holds, up to minutes of old audio; TLS has no reset.
    if (ending === 'lagged' && !('encrypted' in socket)) socket.resetAndDestroy();
    else if (ENDINGS[ending].abrupt) socket.destroy();
    else {
      socket.destroySoon();
      this.#clock.alarm(this.#clock.now() + LINGER_MS, { onAlarm: () => void socket.destroy() });
    }
  }

  #showLate(listener: Listener, tape: AudioTape, { icy, readAheadMs = 0 }: JoinOptions): void {
    if (!icy || readAheadMs === 0 || !listener.isShared) return;
    const onDue = (nowMs: number) => void listener.advance(nowMs);
    listener.late = new LateBlocks(readAheadMs, tape.metaint, listener.player, this.#clock, onDue);
  }

  /** Into the emptiest slot. */
  #place(listener: Listener): void {
    let best = 0;
    for (let i = 1; i < SLOTS; i++) if (this.#slots[i]!.length < this.#slots[best]!.length) best = i;
    listener.slot = best;
    listener.place = this.#slots[best]!.push(listener) - 1;
  }

  #end(listener: Listener, channel: ChannelAudio, options: JoinOptions, ending: Ending): void {
    if (listener.slot < 0) return;
    const slot = this.#slots[listener.slot]!;
    const last = slot.pop()!;
    if (last !== listener) {
      slot[listener.place] = last;
      last.place = listener.place;
    }
    listener.slot = -1;
    if (!ENDINGS[ending].abrupt) listener.finish();
    const { bytes } = listener;
    this.#endedBytes.set(channel.key, (this.#endedBytes.get(channel.key) ?? 0) + bytes);
    this.endings[ending]++;
    if (options.session !== null) this.#sessions.close(options.session);
    this.#closeSocket(listener.socket, ending);
    channel.playing--;
    this.leave(channel);
    options.onEnd({ ending, bytes, lastedMs: this.#clock.now() - listener.startedMs });
  }
}
