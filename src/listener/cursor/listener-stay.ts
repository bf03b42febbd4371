/** A listener's stay in the audience: from its join to its ending, which is reported once, or until its next tape has it. Owned by the audience. */

import type { Socket } from 'node:net';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import { NOTHING } from '../../audio/tape/segment.js';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import type { Session } from '../sessions/session.js';
import type { ListenerBacklog } from './backlog.js';
import { ENDINGS, type Ending } from './ending.js';
import type { Listener } from './listener.js';
import type { ListenerOwner } from './listener-start.js';

/** How long the last bytes of a polite ending may take. */
const LINGER_MS = 10_000;

/** How a listener's stream ended. */
export interface ListenerEnd {
  readonly ending: Ending;
  /** Written to its socket, without the head. */
  readonly bytes: number;
  /** Since it joined. */
  readonly lastedMs: number;
}

export interface StayOptions {
  readonly session: Session | null;
  /** How long it may listen; +∞: no limit. */
  readonly limitMs: number;
  /** Called once, unless the listener is released. */
  onEnd(end: ListenerEnd): void;
  /** See Players (http/stream/players.ts). Absent: it cannot be moved. */
  onMove?(listener: Listener, path: string, comesBack: boolean): boolean;
  /** Its tape is over. False: it cannot continue on another one and is ended. Absent: none can. */
  onOver?(listener: Listener): boolean;
}

/** What the audience does when a listener leaves it. */
export interface StayHost {
  readonly clock: Clock;
  readonly sessions: { close(session: Session): void };
  readonly backlog: { forget(backlog: ListenerBacklog): void };
  countEnd(channel: string, ending: Ending): void;
  /** Nothing is written to it any more. */
  remove(listener: Listener): void;
  /** It has been sent all that it gets, and its channel is left. */
  leave(channel: PlayableAudio, bytes: number): void;
}

export class ListenerStay implements ListenerOwner, AlarmHandler {
  readonly #host: StayHost;
  readonly #listener: Listener;
  readonly #channel: PlayableAudio;
  readonly #options: StayOptions;
  readonly #backlog: ListenerBacklog;
  /** Null: no limit. */
  readonly #limit: Alarm | null;

  constructor(
    host: StayHost,
    listener: Listener,
    channel: PlayableAudio,
    options: StayOptions,
    backlog: ListenerBacklog,
  ) {
    this.#host = host;
    this.#listener = listener;
    this.#channel = channel;
    this.#options = options;
    this.#backlog = backlog;
    const { limitMs } = options;
    const hasLimit = limitMs < Number.POSITIVE_INFINITY;
    this.#limit = hasLimit ? host.clock.alarm(listener.startedMs + limitMs, this) : null;
    this.#watch(listener.socket);
  }

  /** The handlers have no effect after a release. */
  #watch(socket: Socket): void {
    const left = () => this.end('left');
    // A player that closes with unread audio resets the connection: that is leaving, not a fault.
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      this.end(code === 'ECONNRESET' || code === 'EPIPE' ? 'left' : 'broken'),
    );
    socket.on('close', left);
    // A player that closes its half has stopped listening.
    socket.on('end', left);
  }

  onAlarm(): void {
    this.end('overtime');
  }

  end(ending: Ending): void {
    const { session, onEnd } = this.#options;
    this.#stop();
    if (this.#listener.slot < 0) return;
    this.#host.countEnd(this.#channel.key, ending);
    const { bytes, lastedMs } = this.#leave(session, !ENDINGS[ending].abrupt, ending);
    onEnd({ ending, bytes, lastedMs });
  }

  release(): ReturnType<ListenerOwner['release']> {
    const listener = this.#listener;
    this.#stop();
    // With ICY, the rest of a frame would displace the next block: the next tape sends it instead.
    const cut = listener.hasBlocks ? listener.frameRest : NOTHING;
    if (listener.slot < 0) return null;
    // Its session continues on the next tape.
    return { ...this.#leave(null, !listener.hasBlocks, null), cut };
  }

  onTapeOver(): boolean {
    return this.#options.onOver?.(this.#listener) ?? false;
  }

  move(path: string, comesBack: boolean): boolean {
    return this.#options.onMove?.(this.#listener, path, comesBack) ?? false;
  }

  #stop(): void {
    this.#limit?.cancel();
    this.#listener.late?.stop();
    this.#host.backlog.forget(this.#backlog);
  }

  /**
   * Gives up its socket.
   * @param finishes whether the last frame is completed; else the stream stops at the end of a segment @param ending null: it goes to another tape
   */
  #leave(session: Session | null, finishes: boolean, ending: Ending | null): Omit<ListenerEnd, 'ending'> {
    const { clock, sessions } = this.#host;
    const listener = this.#listener;
    this.#host.remove(listener);
    if (finishes) listener.finish();
    if (session !== null) sessions.close(session);
    if (ending !== null) this.#closeSocket(listener.socket, ending);
    const { bytes } = listener;
    this.#host.leave(this.#channel, bytes);
    return { bytes, lastedMs: clock.now() - listener.startedMs };
  }

  #closeSocket(socket: Socket, ending: Ending): void {
    const { clock } = this.#host;
    // A FIN would first deliver what the send queue holds, up to minutes of old audio; TLS has no reset.
    if (ending === 'lagged' && !('encrypted' in socket)) socket.resetAndDestroy();
    else if (ENDINGS[ending].abrupt) socket.destroy();
    else {
      socket.destroySoon();
      clock.alarm(clock.now() + LINGER_MS, { onAlarm: () => void socket.destroy() });
    }
  }
}
