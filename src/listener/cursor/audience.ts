/**
 * All listeners of this process. Each is written to once a second, and in a crowd each two seconds (pace.ts), where it was given as much more
 * audio when it joined: so no player ever holds less than before.
 *
 *   1 s          │ burst │ w   w   w   w   w        w: a write of all that is there
 *   2 s   │ burst │ more   w       w       w        it begins earlier on the tape, by a second at least: that comes later
 *
 * Owns every listener's socket from `join` until its ending, which is reported once (src/listener/README.md, "Endings"). The one writer of
 * PlayableAudio's `listeners` and `playing`.
 */

import type { Socket } from 'node:net';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import { MORE_MS, resumeAt } from '../../audio/tape/burst.js';
import type { Phase } from '../../audio/tape/phase.js';
import { NOTHING } from '../../audio/tape/segment.js';
import type { AlarmHandler, Clock } from '../../base/clock.js';
import type { Tallies } from '../../base/tallies.js';
import { TypicalLag } from '../player/typical-lag.js';
import { Resumes } from '../sessions/resumes.js';
import { Runs } from '../sessions/runs.js';
import type { Session, Sessions } from '../sessions/sessions.js';
import { Slots, type TurnHandler } from '../sessions/slots.js';
import { SocketBacklog } from './backlog.js';
import { ENDINGS, type Ending } from './ending.js';
import { LateBlocks } from './late-blocks.js';
import { Listener, type ListenerClient } from './listener.js';
import { Pace, type WriteSeconds, type WriteSetting } from './pace.js';

/** The last bytes of a polite ending may take this long. */
const LINGER_MS = 10_000;

/** A listener gets no more than its burst before it has been there for this time: where many join at once, that second costs enough. */
const SETTLED_MS = 10_000;

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
  /** Its blocks, where they stand further apart than the tape has them. Absent, null: they do not. */
  readonly phase?: Phase | null;
  /** How long it may listen; +∞: for ever. */
  readonly limitMs: number;
  /** What is missing of the frame in which its stream stands, as it comes from another tape. Absent: nothing. */
  readonly cut?: Buffer;
  /** Whether its player cannot go on in another sample rate or number of channels. */
  readonly endsOnFormatChange?: boolean;
  /** What it was on the tape that it comes from. Absent: it begins. */
  readonly before?: Listener;
  /** Absent: not known. */
  readonly client?: ListenerClient;
  /** Called once, unless it is released. */
  onEnd(end: ListenerEnd): void;
  /** Absent: it cannot be moved. As Players have it (http/stream/players.ts). */
  onMove?(listener: Listener, path: string, comesBack: boolean): boolean;
  /** Its tape is over. False: it cannot go on, and is ended. Absent: none can. */
  onOver?(listener: Listener): boolean;
}

export class Audience implements AlarmHandler, TurnHandler<Listener> {
  readonly #clock: Clock;
  readonly #sessions: Sessions;
  /** What the listeners' sockets hold that their players have not taken. */
  readonly backlog: SocketBacklog;
  readonly #pace: Pace;
  /** By seconds between two writes, and all of them. */
  readonly #turns: Readonly<Record<WriteSeconds, Slots<Listener>>>;
  readonly #slots: readonly (readonly Listener[])[];
  readonly #runs = new WeakMap<AudioTape, Runs>();
  readonly #resumes: Resumes;
  readonly #typicalLag: TypicalLag;
  #tapes = 0;
  #joined = 0;
  #count = 0;
  /** Bytes that were given to sockets of listeners that have ended; live ones carry their own count. */
  #endedBytes = new Map<string, number>();
  readonly endings = noEndings();
  /** The same by channel. */
  readonly #endings = new Map<string, Record<Ending, number>>();

  /** @param writeSeconds `streams.writeSeconds` @param tallies with other processes */
  constructor(clock: Clock, sessions: Sessions, writeSeconds: () => WriteSetting = () => 'auto', tallies?: Tallies) {
    this.#clock = clock;
    this.#sessions = sessions;
    this.backlog = new SocketBacklog(clock, (listener) => listener.end('lagged'));
    this.#pace = new Pace(writeSeconds);
    this.#turns = { 1: new Slots(1, clock.now()), 2: new Slots(2, clock.now()) };
    this.#slots = [...this.#turns[1].slots, ...this.#turns[2].slots];
    this.#resumes = new Resumes(this.#slots);
    this.#typicalLag = new TypicalLag(clock, this.#slots, tallies);
    clock.everyTick(this);
  }

  /** How listeners of a channel have ended, since start. */
  endingsOf(channel: string): Readonly<Record<Ending, number>> {
    return this.#endings.get(channel) ?? noEndings();
  }

  get count(): number {
    return this.#count;
  }

  /** How much later than the live edge the median listener of a channel hears, milliseconds of audio; null: nobody plays. */
  typicalLagMs({ key, delayedMs }: Pick<PlayableAudio, 'key' | 'delayedMs'>): number | null {
    const lagMs = this.#typicalLag.typicalLagMs(key);
    return lagMs === null ? null : lagMs + delayedMs;
  }

  /** Takes a place on the channel, before there is a tape: the first one wakes a source on demand. Balance with `leave`. */
  enter(channel: PlayableAudio): void {
    this.#pace.count(++this.#count);
    if (channel.listeners++ === 0) channel.want(true);
  }

  leave(channel: PlayableAudio): void {
    this.#pace.count(--this.#count);
    if (--channel.listeners === 0) channel.want(false);
  }

  /**
   * Begins to play: `head` is the answer's head, the channel has a tape, `enter` was called for this socket. The audience leaves
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
    listener.id = ++this.#joined;
    listener.client = options.client ?? null;
    listener.cut = options.cut ?? NOTHING;
    listener.endsOnFormatChange = options.endsOnFormatChange ?? false;
    listener.hasMore = before?.hasMore ?? earlier < cursor;
    if (earlier < cursor) listener.staysMs = tape.at(cursor)!.entryMs - tape.at(earlier)!.entryMs;
    listener.runs = this.#runsOf(tape);
    listener.runs.enter();
    this.#resumes.enter(listener.runs, nowMs);
    listener.phase = options.phase ?? null;
    this.#showLate(listener, tape, options);
    this.#turns[listener.writeSeconds].add(listener, listener.runs.group);
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
      // With titles, what is left of a frame would put the next block in the wrong place: it goes along to the next tape.
      const cut = listener.hasBlocks ? listener.missing : NOTHING;
      // Its session goes on with it.
      const end = this.#release(listener, channel, null, !listener.hasBlocks);
      return end === null ? null : { ...end, cut };
    };
    listener.onTapeOver = () => options.onOver?.(listener) ?? false;
    listener.move = (path, comesBack = false) => options.onMove?.(listener, path, comesBack) ?? false;
    // After a release these find that it has ended.
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
    this.#turns[1].turn(nowMs, this);
    this.#turns[2].turn(nowMs, this);
    this.#resumes.look(nowMs, this);
  }

  /** Writes to it what is due; after that its next turn may come whenever it likes. */
  onTurn(listener: Listener, nowMs: number): void {
    if (listener.staysMs > 0 && nowMs - listener.startedMs >= SETTLED_MS) listener.staysMs = 0;
    if (listener.isFlooding) {
      listener.end('flood');
      return;
    }
    if (!listener.advance(nowMs)) {
      if (!listener.isTapeOver || !listener.onTapeOver()) listener.end(listener.fallen);
      return;
    }
    // While some of that second stays on the tape it has no more than others.
    const hasMore = listener.hasMore && listener.staysMs === 0;
    const seconds = hasMore && listener.isAtEdge ? this.#pace.seconds : 1;
    if (seconds !== listener.writeSeconds) this.#move(listener, seconds);
  }

  /** All of them, for an operator who looks. Not to be kept. */
  *all(): Iterable<Listener> {
    for (const slot of this.#slots) yield* slot;
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

  #move(listener: Listener, seconds: WriteSeconds): void {
    this.#turns[listener.writeSeconds].remove(listener);
    listener.writeSeconds = seconds;
    this.#turns[seconds].add(listener, listener.runs!.group);
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

  /** Where it begins that shall be written to each two seconds; `cursor` where it shall not. */
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
    this.endings[ending]++;
    let ofChannel = this.#endings.get(listener.channel);
    if (ofChannel === undefined) this.#endings.set(listener.channel, (ofChannel = noEndings()));
    ofChannel[ending]++;
    const { socket } = listener;
    const close = () => this.#closeSocket(socket, ending);
    const released = this.#release(listener, channel, options.session, !ENDINGS[ending].abrupt, close);
    options.onEnd({ ending, ...released! });
  }

  /**
   * Its socket is no longer the audience's. Null: it has ended.
   * @param finishes whether it is sent what is there, to a whole frame; else it stands at the end of a segment
   */
  #release(
    listener: Listener,
    channel: PlayableAudio,
    session: Session | null,
    finishes: boolean,
    onLetGo: () => void = () => undefined,
  ): Omit<ListenerEnd, 'ending'> | null {
    if (listener.slot < 0) return null;
    this.#turns[listener.writeSeconds].remove(listener);
    listener.runs!.leave();
    this.#resumes.leave(listener.runs!);
    if (finishes) listener.finish();
    const { bytes } = listener;
    this.#endedBytes.set(channel.key, (this.#endedBytes.get(channel.key) ?? 0) + bytes);
    if (session !== null) this.#sessions.close(session);
    onLetGo();
    channel.playing--;
    this.leave(channel);
    return { bytes, lastedMs: this.#clock.now() - listener.startedMs };
  }
}

/** What it has less than one that begins is given. */
function lackOf(before: Listener, { burstMs }: JoinOptions, nowMs: number): number {
  // Always asked: it brings the player's clock up to date, with which the next listener goes on.
  const aheadMs = before.aheadMs(nowMs);
  return burstMs === 0 ? 0 : burstMs + (before.hasMore ? MORE_MS : 0) - aheadMs;
}

function noEndings(): Record<Ending, number> {
  return Object.fromEntries(Object.keys(ENDINGS).map((ending) => [ending, 0])) as Record<Ending, number>;
}
