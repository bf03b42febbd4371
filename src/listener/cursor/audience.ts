/**
 * All listeners of this process. Each is written to once a second, or in a crowd every two seconds (pace.ts) if it was given that much more
 * audio when it joined, so that no player ever holds less than before.
 *
 *   1 s          │ burst │ w   w   w   w   w        w: a write of everything available
 *   2 s   │ burst │ more   w       w       w        begins at least a second earlier on the tape; that second is sent later
 *
 * Owns every listener's socket from `join` until its ending, which is reported once (src/listener/README.md, "Endings"). The only writer of
 * PlayableAudio's `listeners` and `playing`.
 */

import type { Socket } from 'node:net';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import { MORE_MS, resumeAt } from '../../audio/tape/burst.js';
import type { Phase } from '../../audio/tape/phase.js';
import { NOTHING } from '../../audio/tape/segment.js';
import type { AlarmHandler, Clock } from '../../base/clock.js';
import { zeroCounts } from '../../base/counts.js';
import type { Tallies } from '../../base/tallies.js';
import { TypicalLag } from '../player/typical-lag.js';
import { Runs } from '../sessions/runs.js';
import type { Session, Sessions } from '../sessions/sessions.js';
import type { TurnHandler } from '../sessions/slots.js';
import { SocketBacklog } from './backlog.js';
import { ENDING_NAMES, ENDINGS, type Ending } from './ending.js';
import { LateBlocks } from './late-blocks.js';
import { Listener, type ListenerClient } from './listener.js';
import { Pace, type WriteSetting } from './pace.js';
import { WriteTurns } from './write-turns.js';

/** How long the last bytes of a polite ending may take. */
const LINGER_MS = 10_000;

/** A new listener gets only its burst for this long: when many join at once, that second is expensive enough. */
const SETTLED_MS = 10_000;

/** How a listener's stream ended. */
export interface ListenerEnd {
  readonly ending: Ending;
  /** Written to its socket, without the head. */
  readonly bytes: number;
  /** Since it joined. */
  readonly lastedMs: number;
}

export interface JoinOptions {
  readonly icy: boolean;
  readonly burstMs: number;
  readonly session: Session | null;
  /** Milliseconds of audio that its player reads ahead, if it shows titles when it reads them; else 0. */
  readonly readAheadMs?: number;
  /** Places its blocks, if they are further apart than those of the tape. Absent, null: the tape's own. */
  readonly phase?: Phase | null;
  /** How long it may listen; +∞: no limit. */
  readonly limitMs: number;
  /** The rest of the frame that its previous tape left incomplete. Absent: none. */
  readonly cut?: Buffer;
  /** Whether its player cannot continue in another sample rate or number of channels. */
  readonly endsOnFormatChange?: boolean;
  /** The same listener on its previous tape. Absent: it is new. */
  readonly before?: Listener;
  /** Absent: unknown. */
  readonly client?: ListenerClient;
  /** Called once, unless the listener is released. */
  onEnd(end: ListenerEnd): void;
  /** See Players (http/stream/players.ts). Absent: it cannot be moved. */
  onMove?(listener: Listener, path: string, comesBack: boolean): boolean;
  /** Its tape is over. False: it cannot continue on another one and is ended. Absent: none can. */
  onOver?(listener: Listener): boolean;
}

export class Audience implements AlarmHandler, TurnHandler<Listener> {
  readonly #clock: Clock;
  readonly #sessions: Sessions;
  /** Bytes in the listeners' sockets that their players have not acknowledged. */
  readonly backlog: SocketBacklog;
  readonly #pace: Pace;
  readonly #turns: WriteTurns;
  readonly #slots: readonly (readonly Listener[])[];
  readonly #runs = new WeakMap<AudioTape, Runs>();
  readonly #typicalLag: TypicalLag;
  #tapes = 0;
  #joined = 0;
  #count = 0;
  /** Bytes written to listeners that have ended, by channel; live ones carry their own count. */
  #endedBytes = new Map<string, number>();
  readonly endings = zeroCounts(ENDING_NAMES);
  /** By channel. */
  readonly #endings = new Map<string, Record<Ending, number>>();

  /** @param writeSeconds `streams.writeSeconds` @param tallies with other processes */
  constructor(clock: Clock, sessions: Sessions, writeSeconds: () => WriteSetting = () => 'auto', tallies?: Tallies) {
    this.#clock = clock;
    this.#sessions = sessions;
    this.backlog = new SocketBacklog(clock, (listener) => listener.end('lagged'));
    this.#pace = new Pace(writeSeconds);
    this.#turns = new WriteTurns(clock, this);
    this.#slots = this.#turns.slots;
    this.#typicalLag = new TypicalLag(clock, this.#slots, tallies);
  }

  /** Endings of a channel's listeners since start. */
  endingsOf(channel: string): Readonly<Record<Ending, number>> {
    return this.#endings.get(channel) ?? zeroCounts(ENDING_NAMES);
  }

  get count(): number {
    return this.#count;
  }

  /** Those to whom audio is written. */
  get playing(): number {
    return this.#turns.count;
  }

  /** How far the median listener of a channel hears behind the live edge, milliseconds of audio; null: no listener plays. */
  typicalLagMs({ key, delayedMs }: Pick<PlayableAudio, 'key' | 'delayedMs'>): number | null {
    const lagMs = this.#typicalLag.typicalLagMs(key);
    return lagMs === null ? null : lagMs + delayedMs;
  }

  /** Counts a listener of the channel, before there is a tape: the first one wakes a source on demand. Balance with `leave`. */
  enter(channel: PlayableAudio): void {
    this.#pace.count(++this.#count);
    if (channel.listeners++ === 0) channel.want(true);
  }

  leave(channel: PlayableAudio): void {
    this.#pace.count(--this.#count);
    if (--channel.listeners === 0) channel.want(false);
  }

  /** Of one whom nothing is written to here, such as a player of HLS: unique in this process. */
  nextId(): number {
    return ++this.#joined;
  }

  /** The same one has ended, after `enter`. @param bytes that it was sent */
  depart(channel: PlayableAudio, ending: Ending, bytes: number): void {
    this.#countEnd(channel.key, ending);
    this.#countBytes(channel.key, bytes);
    this.leave(channel);
  }

  /**
   * Starts the stream: `head` is the response head, the channel has a tape, `enter` was called for this socket. The audience leaves
   * the channel when the listener ends.
   */
  join(socket: Socket, channel: PlayableAudio, head: Buffer, options: JoinOptions): Listener {
    const tape = channel.tape!;
    channel.playing++;
    const nowMs = this.#clock.now();
    const { before } = options;
    const cursor = before === undefined ? tape.joinAt(options.burstMs) : resumeAt(tape, lackOf(before, options, nowMs));
    const earlier = before === undefined ? this.#joinEarlier(tape, cursor, options) : cursor;
    const { icy, session } = options;
    const listener = new Listener(socket, tape, channel.key, earlier, icy, session, nowMs, before?.player);
    listener.id = this.nextId();
    listener.client = options.client ?? null;
    listener.cut = options.cut ?? NOTHING;
    listener.endsOnFormatChange = options.endsOnFormatChange ?? false;
    listener.hasExtra = before?.hasExtra ?? earlier < cursor;
    if (earlier < cursor) listener.heldBackMs = tape.at(cursor)!.entryMs - tape.at(earlier)!.entryMs;
    listener.runs = this.#runsOf(tape);
    listener.runs.enter();
    listener.phase = options.phase ?? null;
    this.#showLate(listener, tape, options);
    this.#turns.add(listener);
    const backlog = this.backlog.watch(listener, tape);
    const onAlarm = () => listener.end('overtime');
    const hasLimit = options.limitMs < Number.POSITIVE_INFINITY;
    const alarm = hasLimit ? this.#clock.alarm(nowMs + options.limitMs, { onAlarm }) : null;
    const release = () => {
      alarm?.cancel();
      listener.late?.stop();
      this.backlog.forget(backlog);
    };
    listener.end = (ending) => {
      release();
      this.#end(listener, channel, options, ending);
    };
    listener.release = () => {
      release();
      // With ICY, the rest of a frame would displace the next block: the next tape sends it instead.
      const cut = listener.hasBlocks ? listener.frameRest : NOTHING;
      // Its session continues on the next tape.
      const end = this.#release(listener, channel, null, !listener.hasBlocks);
      return end === null ? null : { ...end, cut };
    };
    listener.onTapeOver = () => options.onOver?.(listener) ?? false;
    listener.move = (path, comesBack = false) => options.onMove?.(listener, path, comesBack) ?? false;
    // After a release these have no effect.
    // A player that closes with unread audio resets the connection: that is leaving, not a fault.
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
    this.#turns.turn(nowMs);
  }

  /** Writes what is due and sets the time to the next write. */
  onTurn(listener: Listener, nowMs: number): void {
    if (listener.heldBackMs > 0 && nowMs - listener.startedMs >= SETTLED_MS) listener.heldBackMs = 0;
    if (listener.isFlooding) {
      listener.end('flood');
      return;
    }
    if (!listener.advance(nowMs)) {
      if (!listener.isTapeOver || !listener.onTapeOver()) listener.end(listener.endingReason);
      return;
    }
    // While part of the extra second is kept back it has no more than others.
    const hasMore = listener.hasExtra && listener.heldBackMs === 0;
    const seconds = hasMore && listener.isAtEdge ? this.#pace.seconds : 1;
    if (seconds !== listener.writeSeconds) this.#turns.pace(listener, seconds);
  }

  /** All listeners, for the admin interface. Not to be kept. */
  *all(): Iterable<Listener> {
    for (const slot of this.#slots) yield* slot;
  }

  /** Ends every listener of a channel, or of all channels. */
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

  /** Where a listener begins that can be written to every two seconds; `cursor` if it cannot. */
  #joinEarlier(tape: AudioTape, cursor: number, { icy, burstMs, readAheadMs = 0 }: JoinOptions): number {
    const hasMoments = icy && readAheadMs > 0;
    return this.#pace.seconds === 1 || hasMoments ? cursor : tape.joinAt(burstMs, MORE_MS);
  }

  #runsOf(tape: AudioTape): Runs {
    let runs = this.#runs.get(tape);
    if (runs === undefined) this.#runs.set(tape, (runs = new Runs(tape, this.#tapes++)));
    return runs;
  }

  #end(listener: Listener, channel: PlayableAudio, options: JoinOptions, ending: Ending): void {
    if (listener.slot < 0) return;
    this.#countEnd(listener.channel, ending);
    const { socket } = listener;
    const close = () => this.#closeSocket(socket, ending);
    const released = this.#release(listener, channel, options.session, !ENDINGS[ending].abrupt, close);
    options.onEnd({ ending, ...released! });
  }

  #countEnd(channel: string, ending: Ending): void {
    this.endings[ending]++;
    let ofChannel = this.#endings.get(channel);
    if (ofChannel === undefined) this.#endings.set(channel, (ofChannel = zeroCounts(ENDING_NAMES)));
    ofChannel[ending]++;
  }

  #countBytes(channel: string, bytes: number): void {
    this.#endedBytes.set(channel, (this.#endedBytes.get(channel) ?? 0) + bytes);
  }

  /**
   * Gives up its socket. Null: it has ended.
   * @param finishes whether the last frame is completed; else the stream stops at the end of a segment
   */
  #release(
    listener: Listener,
    channel: PlayableAudio,
    session: Session | null,
    finishes: boolean,
    onReleased?: () => void,
  ): Omit<ListenerEnd, 'ending'> | null {
    if (listener.slot < 0) return null;
    listener.runs!.leave();
    this.#turns.remove(listener);
    if (finishes) listener.finish();
    const { bytes } = listener;
    this.#countBytes(channel.key, bytes);
    if (session !== null) this.#sessions.close(session);
    onReleased?.();
    channel.playing--;
    this.leave(channel);
    return { bytes, lastedMs: this.#clock.now() - listener.startedMs };
  }
}

/** How much less audio its player has ahead than a new listener is given, milliseconds. */
function lackOf(before: Listener, { burstMs }: JoinOptions, nowMs: number): number {
  // Always called: it updates the player's clock, which the next tape's listener takes over.
  const aheadMs = before.aheadMs(nowMs);
  return burstMs === 0 ? 0 : burstMs + (before.hasExtra ? MORE_MS : 0) - aheadMs;
}
