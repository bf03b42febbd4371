/**
 * All listeners of this process. Each is written to once a second, or in a crowd every four seconds (pace.ts) if it was given that much more
 * audio when it joined, so that no player ever holds less than before.
 *
 *   1 s              │ burst │ w   w   w   w   w        w: a write of everything available
 *   4 s   │ burst │ more       w               w        begins at least three seconds earlier on the tape; they are sent later
 *
 * Owns every listener's socket from `join` until its ending, which is reported once (src/listener/README.md, "Endings"). The only writer of
 * PlayableAudio's `listeners` and `playing`.
 */

import type { Socket } from 'node:net';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import { resumeAt } from '../../audio/tape/burst.js';
import type { AlarmHandler, Clock } from '../../base/clock.js';
import { zeroCounts } from '../../base/counts.js';
import type { Tallies } from '../../base/tallies.js';
import { TypicalLag } from '../player/typical-lag.js';
import { Runs } from '../sessions/runs.js';
import type { Sessions } from '../sessions/sessions.js';
import type { TurnHandler } from '../sessions/slots.js';
import { SocketBacklog } from './backlog.js';
import { ENDING_NAMES, type Ending } from './ending.js';
import { LateBlocks } from './late-blocks.js';
import { Listener } from './listener.js';
import { isSecure, maxWriteBytes } from './listener-socket.js';
import type { ListenerStart } from './listener-start.js';
import { ListenerStay, type StayHost, type StayOptions } from './listener-stay.js';
import { extraMsFor, Pace, type WriteSeconds, type WriteSetting } from './pace.js';
import { WriteTurns } from './write-turns.js';

/** A new listener gets only its burst for this long: when many join at once, that second is expensive enough. */
const SETTLED_MS = 10_000;
/** Sources pause for less between two pieces of their audio, as files that are read in pieces do. */
const PAUSE_MS = 3000;

export interface JoinOptions
  extends StayOptions,
    Pick<ListenerStart, 'icy' | 'session' | 'phase' | 'cut' | 'endsOnFormatChange' | 'client'> {
  readonly burstMs: number;
  /** Milliseconds of audio that its player reads ahead, if it shows titles when it reads them; else 0. */
  readonly readAheadMs?: number;
  /** The same listener on its previous tape. Absent: it is new. */
  readonly before?: Listener;
}

export class Audience implements AlarmHandler, TurnHandler<Listener> {
  readonly #clock: Clock;
  /** Bytes in the listeners' sockets that their players have not acknowledged. */
  readonly backlog: SocketBacklog;
  readonly #pace: Pace;
  readonly #turns: WriteTurns;
  readonly #slots: readonly (readonly Listener[])[];
  readonly #runs = new WeakMap<AudioTape, Runs>();
  readonly #typicalLag: TypicalLag;
  readonly #host: StayHost;
  #tapes = 0;
  #joined = 0;
  #count = 0;
  /** Listeners over TLS that are written to. */
  #secure = 0;
  /** Bytes written to listeners that have ended, by channel; live ones carry their own count. */
  #endedBytes = new Map<string, number>();
  readonly endings = zeroCounts(ENDING_NAMES);
  /** By channel. */
  readonly #endings = new Map<string, Record<Ending, number>>();

  /** @param writeSeconds `streams.writeSeconds` @param tallies with other processes */
  constructor(clock: Clock, sessions: Sessions, writeSeconds: () => WriteSetting = () => 'auto', tallies?: Tallies) {
    this.#clock = clock;
    this.backlog = new SocketBacklog(clock, (listener) => listener.end('lagged'));
    this.#pace = new Pace(writeSeconds);
    this.#turns = new WriteTurns(clock, this);
    this.#slots = this.#turns.slots;
    this.#typicalLag = new TypicalLag(clock, this.#slots, tallies);
    this.#host = {
      clock,
      sessions,
      backlog: this.backlog,
      countEnd: (channel, ending) => this.#countEnd(channel, ending),
      remove: (listener) => {
        listener.runs!.leave();
        if (isSecure(listener.socket)) this.#secure--;
        this.#turns.remove(listener);
      },
      leave: (channel, bytes) => {
        this.#countBytes(channel.key, bytes);
        channel.playing--;
        this.leave(channel);
      },
    };
  }

  /** Endings of a channel's listeners since start. */
  endingsOf(channel: string): Readonly<Record<Ending, number>> {
    return this.#endings.get(channel) ?? zeroCounts(ENDING_NAMES);
  }

  get count(): number {
    return this.#count;
  }

  /** Number of listeners that are written to. */
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
    this.#pace.count(++this.#count + this.#secure);
    if (channel.listeners++ === 0) channel.want(true);
  }

  leave(channel: PlayableAudio): void {
    this.#pace.count(--this.#count + this.#secure);
    if (--channel.listeners === 0) channel.want(false);
  }

  /** An id, unique in this process, for a listener that is not written to here, such as a player of HLS. */
  nextId(): number {
    return ++this.#joined;
  }

  /** Such a listener has ended, after `enter`. @param bytes that it was sent */
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
    const cursor =
      before === undefined
        ? tape.joinAt(options.burstMs)
        : resumeAt(tape, lackOf(before, options, nowMs) - oldMs(channel, nowMs));
    const maxWriteSeconds = before?.maxWriteSeconds ?? this.#maxWriteSeconds(socket, tape, cursor, options);
    const extraMs = before === undefined ? extraMsFor(maxWriteSeconds) : 0;
    const earlier = extraMs === 0 ? cursor : tape.joinAt(options.burstMs, extraMs);
    const runs = this.#runsOf(tape);
    // A spread costs seven times as much as all else here.
    const { icy, session, client, phase, cut, endsOnFormatChange } = options;
    const listener = new Listener(socket, tape, {
      icy,
      session,
      client,
      phase,
      cut,
      endsOnFormatChange,
      channel: channel.key,
      cursor: earlier,
      nowMs,
      runs,
      id: this.nextId(),
      player: before?.playback.player,
      maxWriteSeconds,
      heldBackMs: earlier < cursor ? tape.at(cursor)!.entryMs - tape.at(earlier)!.entryMs : 0,
    });
    runs.enter();
    if (isSecure(listener.socket)) this.#pace.count(this.#count + ++this.#secure);
    this.#showLate(listener, tape, options);
    this.#turns.add(listener);
    listener.owner = new ListenerStay(this.#host, listener, channel, options, this.backlog.watch(listener, tape));
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
      if (!listener.isTapeOver || !listener.owner!.onTapeOver()) listener.end(listener.endingReason);
      return;
    }
    // While part of the extra audio is kept back it has no more than others.
    const isReady = listener.heldBackMs === 0 && listener.isAtEdge;
    const { maxWriteSeconds } = listener;
    const seconds = isReady ? (Math.min(this.#pace.seconds, maxWriteSeconds) as typeof maxWriteSeconds) : 1;
    if (seconds !== listener.writeSeconds) this.#turns.pace(listener, seconds);
  }

  /** All listeners, for the admin interface. Iterate at once. */
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

  #showLate(listener: Listener, tape: AudioTape, { icy, readAheadMs = 0 }: JoinOptions): void {
    if (!icy || readAheadMs === 0 || !listener.isShared) return;
    const onDue = (nowMs: number) => void listener.advance(nowMs);
    listener.placeBlocks(new LateBlocks(readAheadMs, tape.metaint, listener.playback.player, this.#clock, onDue));
  }

  /** The most seconds between two writes to a listener: the tape must have extra audio for them, before `cursor`. */
  #maxWriteSeconds(socket: Socket, tape: AudioTape, cursor: number, options: JoinOptions): WriteSeconds {
    const { icy, burstMs, readAheadMs = 0 } = options;
    const pace = this.#pace.seconds;
    const newest = tape.at(tape.head - 1);
    const hasMoments = icy && readAheadMs > 0;
    if (pace === 1 || hasMoments || newest === undefined) return 1;
    const bytesPerSecond = (newest.bytes.length * 1000) / (newest.endMs - newest.startMs);
    const isShort = pace * bytesPerSecond <= maxWriteBytes(socket);
    if (isShort && tape.joinAt(burstMs, extraMsFor(pace)) < cursor) return pace;
    return tape.joinAt(burstMs, extraMsFor(2)) < cursor ? 2 : 1;
  }

  #runsOf(tape: AudioTape): Runs {
    let runs = this.#runs.get(tape);
    if (runs === undefined) this.#runs.set(tape, (runs = new Runs(tape, this.#tapes++)));
    return runs;
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
}

/** How much less audio its player has ahead than a new listener gets, milliseconds. */
function lackOf(before: Listener, { burstMs }: JoinOptions, nowMs: number): number {
  // Always called: it updates the player's clock, which the next tape's listener takes over.
  const aheadMs = before.playback.aheadMs(nowMs);
  return burstMs === 0 ? 0 : burstMs + extraMsFor(before.maxWriteSeconds) - aheadMs;
}

/** How far the end of the tape is behind the live edge, milliseconds: without audio for a while, its last audio is old, and was played. */
function oldMs(channel: PlayableAudio, nowMs: number): number {
  const sinceMs = nowMs - channel.arrivedMs(channel.tape!.edgeMs);
  return sinceMs > PAUSE_MS ? sinceMs : 0;
}
