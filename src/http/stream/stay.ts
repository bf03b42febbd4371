/** The state of a listener that it keeps when it moves to another channel (players.ts), and the conditions for a move. */

import { type AudioFormat, canFollow } from '../../audio/frames/audio-format.js';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import type { Phase } from '../../audio/tape/phase.js';
import type { Mount } from '../../channel/mount.js';
import type { ListenerClient } from '../../listener/cursor/listener-start.js';
import type { CountedListener } from '../../listener/listener-stats.js';
import type { Session } from '../../listener/sessions/session.js';
import type { Admitted } from './admission.js';
import type { StreamRequest } from './stream-request.js';

export interface Stay {
  readonly audio: PlayableAudio;
  /** The mount that it requested, or to which an operator has moved it; it returns there. */
  home: Mount;
  readonly contentType: string;
  /** Null: no ICY titles. */
  readonly metaint: number | null;
  /** The position of its ICY blocks, if they are further apart than on the tape. */
  readonly phase: Phase | null;
  readonly admitted: Admitted;
  readonly session: Session | null;
  /** Its id, for the log. */
  readonly connection: StreamRequest['connection'];
  readonly client: ListenerClient;
  readonly counted: CountedListener;
  /** Absent: it has not moved yet. */
  readonly before?: Before;
  /** X-Playback-Session-Id. */
  readonly playbackSession: string | undefined;
  readonly readAheadMs: number;
  /** The format of its stream, if its player cannot change to another; null: it can. */
  readonly format: Omit<AudioFormat, 'codec'> | null;
  /** When its time limit ends (monotonic ms). */
  readonly endMs: number;
  /** The rest of the frame in which its stream stopped. */
  readonly cut: Buffer;
}

/** Figures from before the last move. */
interface Before {
  /** Playing time since it connected. */
  readonly lastedMs: number;
  /** Playing time on its present channel. */
  readonly countedMs: number;
  /** Sent on its present channel. */
  readonly bytes: number;
}

export const NOT_MOVED: Before = { lastedMs: 0, countedMs: 0, bytes: 0 };

export type Destination = Pick<Mount, 'audio' | 'path'>;

/** A listener that waits to move, since the tape is not in this process yet, or does not grow yet. */
export interface MovingListener {
  readonly mount: Destination;
  readonly stay: Stay;
  readonly untilMs: number;
  /** The tape when first seen: the listener moves once it has grown. Null: it need not grow. */
  seen: { readonly tape: AudioTape | undefined; readonly head: number } | null;
}

/** Whether a listener can start, since there is audio for a burst. */
export function canBegin({ hasAudio, audio }: Mount): boolean {
  return hasAudio && audio.hasSegments;
}

/** Whether a listener can start now or in a moment, since the source is on air, and no delay line must fill. */
export function hasAudioSoon(mount: Mount): boolean {
  return canBegin(mount) || (mount.hasAudio && mount.audio.delayMs === 0);
}

/** Whether audio may come: from a source, or from the tape of another process, which is played to its end even without a source. */
export function isWorthWaiting(mount: Mount): boolean {
  return mount.hopeful || canBegin(mount);
}

/** Whether the tape is in this process; the first listener of a channel causes its transfer. */
export function isTapeHere({ audio: { tape } }: Destination): boolean {
  return tape !== undefined && tape.head > tape.tail;
}

/** Whether the listener can move now. An old tape may be complete while the delay line still fills. */
export function isReady(moving: MovingListener): boolean {
  const { mount, seen } = moving;
  if (!isTapeHere(mount)) return false;
  const tape = mount.audio.tape!;
  if (seen === null) return tape.head >= (tape.comesTo ?? 0);
  if (seen.tape === tape) return tape.head > seen.head;
  moving.seen = { tape, head: tape.head };
  return false;
}

/**
 * Whether the head that the listener got, with its content type and metaint, is valid for the other channel, and the player can follow the format.
 * No other stream can continue an Ogg stream.
 */
export function fits(
  { contentType, metaint, phase, format }: Pick<Stay, 'contentType' | 'metaint' | 'phase' | 'format'>,
  to: PlayableAudio,
): boolean {
  if (to.contentType !== contentType || contentType === 'audio/ogg') return false;
  if (format !== null && !canFollow(format, to)) return false;
  return metaint === null || phase !== null || to.metaint === metaint;
}
