/**
 * All listeners of this process. Each is visited once a second, in one of 25 slots, so that a crowd's writes are spread over
 * the second and never block the loop.
 *
 *   tick 40 ms ─► slot 0 │ slot 1 │ … │ slot 24 │ slot 0 …      a late tick visits the slots it missed, each once
 *
 * Owns every listener's socket from `join` until its ending. The one writer of Channel.listeners and playing.
 */

import type { Socket } from 'node:net';
import type { ChannelAudio } from '../audio/channel-audio.js';
import type { AlarmHandler, Clock } from '../base/clock.js';
import { TICK_MS } from '../base/clock.js';
import { SocketBacklog } from './backlog.js';
import { ENDINGS, type Ending } from './ending.js';
import type { Guest } from './guests.js';
import { Listener } from './listener.js';
import type { Session, Sessions } from './sessions.js';

/** One turn takes a second, the playing time of a usual segment. */
const SLOTS = 1000 / TICK_MS;
/** So long may the last bytes of a polite ending take. */
const LINGER_MS = 10_000;

export interface AudienceOutput {
  /** The number of listeners of a channel went from 0 to 1 or back. */
  onWanted(channel: ChannelAudio, wanted: boolean): void;
  onEnded(listener: Listener, guest: Guest, ending: Ending, lastedMs: number): void;
}

export interface JoinOptions {
  readonly icy: boolean;
  readonly burstMs: number;
  readonly session: Session | null;
  readonly guest: Guest;
  /** How long it may listen; +∞: for ever. */
  readonly limitMs: number;
  /** Told once, when it has ended. */
  readonly onLeft: (lastedMs: number) => void;
}

export class Audience implements AlarmHandler {
  readonly #clock: Clock;
  readonly #sessions: Sessions;
  readonly #output: AudienceOutput;
  /** What of their streams has not left this machine. */
  readonly kernel: SocketBacklog;
  readonly #slots: Listener[][] = Array.from({ length: SLOTS }, () => []);
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

  constructor(clock: Clock, sessions: Sessions, output: AudienceOutput) {
    this.#clock = clock;
    this.#sessions = sessions;
    this.#output = output;
    this.kernel = new SocketBacklog(clock, (listener) => listener.onEnd('lagged'));
    this.#doneTick = Math.floor(clock.now() / TICK_MS);
    clock.everyTick(this);
  }

  get count(): number {
    return this.#count;
  }

  /** Takes a place on the channel, before there is a tape: it is what wakes a source on demand. Balance with `leave`. */
  enter(channel: ChannelAudio): void {
    this.#count++;
    if (channel.listeners++ === 0) this.#output.onWanted(channel, true);
  }

  leave(channel: ChannelAudio): void {
    this.#count--;
    if (--channel.listeners === 0) this.#output.onWanted(channel, false);
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
    this.#seat(listener);
    const flow = this.kernel.watch(listener, tape, options.session);
    const timeUp = { onAlarm: () => gone('overtime') };
    const alarm =
      options.limitMs < Number.POSITIVE_INFINITY ? this.#clock.alarm(nowMs + options.limitMs, timeUp) : null;
    const gone = (ending: Ending) => {
      alarm?.cancel();
      this.kernel.forget(flow);
      this.#end(listener, channel, options, ending);
    };
    // A player that closes over unread audio resets the connection: it has left like any other.
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      gone(code === 'ECONNRESET' || code === 'EPIPE' ? 'left' : 'broken'),
    );
    socket.on('close', () => gone('left'));
    // A half-closed player hears nothing: it has gone.
    socket.on('end', () => gone('left'));
    socket.resume();
    listener.onEnd = gone;
    listener.start(head, nowMs);
    return listener;
  }

  /** Visits the slots that are due. */
  onAlarm(nowMs: number): void {
    const tick = Math.floor(nowMs / TICK_MS);
    for (let t = Math.max(this.#doneTick + 1, tick - SLOTS + 1); t <= tick; t++)
      this.#visit(this.#slots[t % SLOTS]!, nowMs);
    this.#doneTick = tick;
  }

  /** Ends every listener of a channel (all channels: undefined). */
  endAll(ending: Ending, channel?: string): void {
    for (const slot of this.#slots) {
      for (let i = slot.length - 1; i >= 0; i--) {
        const listener = slot[i]!;
        if (channel === undefined || listener.channel === channel) listener.onEnd(ending);
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

  #visit(slot: Listener[], nowMs: number): void {
    for (let i = slot.length - 1; i >= 0; i--) {
      const listener = slot[i]!;
      if (!listener.advance(nowMs)) listener.onEnd(listener.fallen);
    }
  }

  #letGo(socket: Socket, ending: Ending): void {
    // A FIN would first deliver whatever the kernel holds, up to minutes of audio of the past; TLS knows no reset.
    if (ending === 'lagged' && !('encrypted' in socket)) socket.resetAndDestroy();
    else if (ENDINGS[ending].abrupt) socket.destroy();
    else {
      socket.destroySoon();
      this.#clock.alarm(this.#clock.now() + LINGER_MS, { onAlarm: () => void socket.destroy() });
    }
  }

  /** Into the emptiest slot. */
  #seat(listener: Listener): void {
    let best = 0;
    for (let i = 1; i < SLOTS; i++) if (this.#slots[i]!.length < this.#slots[best]!.length) best = i;
    listener.slot = best;
    listener.place = this.#slots[best]!.push(listener) - 1;
  }

  #end(listener: Listener, channel: ChannelAudio, { session, guest, onLeft: left }: JoinOptions, ending: Ending): void {
    if (listener.slot < 0) return;
    const slot = this.#slots[listener.slot]!;
    const last = slot.pop()!;
    if (last !== listener) {
      slot[listener.place] = last;
      last.place = listener.place;
    }
    listener.slot = -1;
    if (!ENDINGS[ending].abrupt) listener.finish();
    this.#endedBytes.set(channel.key, (this.#endedBytes.get(channel.key) ?? 0) + listener.bytes);
    this.endings[ending]++;
    if (session !== null) this.#sessions.close(session);
    this.#letGo(listener.socket, ending);
    channel.playing--;
    this.leave(channel);
    const lastedMs = this.#clock.now() - listener.startedMs;
    left(lastedMs);
    this.#output.onEnded(listener, guest, ending, lastedMs);
  }
}
