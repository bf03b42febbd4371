/** A listener while it plays, as far as it goes with it to another channel (players.ts), and when it can go there. */

import { type AudioFormat, canFollow } from '../../audio/frames/audio-format.js';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import type { Phase } from '../../audio/tape/phase.js';
import type { Mount } from '../../channel/mount.js';
import type { ListenerClient } from '../../listener/cursor/listener.js';
import type { CountedListener } from '../../listener/listener-stats.js';
import type { Session } from '../../listener/sessions/sessions.js';
import type { Place } from './admission.js';
import type { StreamRequest } from './stream-request.js';

export interface Stay {
  readonly audio: PlayableAudio;
  /** What it asked for, or was moved to: there it comes back. */
  home: Mount;
  /** As its head has said; of the second, null: without titles. */
  readonly contentType: string;
  readonly metaint: number | null;
  /** Its blocks, where they stand further apart than a tape has them; they go along with it. */
  readonly phase: Phase | null;
  readonly place: Place;
  readonly session: Session | null;
  /** For the log. */
  readonly connection: StreamRequest['connection'];
  readonly client: ListenerClient;
  readonly counted: CountedListener;
  /** What it had before it moved. Absent: it has not. */
  readonly before?: Before;
  /** As its request had it. */
  readonly playbackSession: string | undefined;
  readonly readAheadMs: number;
  /** That of its stream, where its player cannot go on in another one; null: it can. */
  readonly format: Omit<AudioFormat, 'codec'> | null;
  /** When it has listened for as long as it may. */
  readonly endMs: number;
  /** What is missing of the frame in which its stream stands. */
  readonly cut: Buffer;
}

/** Of a listener that has moved. */
interface Before {
  /** Since its connection began to play, milliseconds. */
  readonly lastedMs: number;
  /** Where it is counted now, and what it was sent there. */
  readonly countedMs: number;
  readonly bytes: number;
}

export const NOT_MOVED: Before = { lastedMs: 0, countedMs: 0, bytes: 0 };

/** Where a listener goes. */
export type Where = Pick<Mount, 'audio' | 'path'>;

/** A listener that goes to a channel whose tape is not here yet, or does not grow yet. */
export interface MovingListener {
  readonly mount: Where;
  readonly stay: Stay;
  readonly untilMs: number;
  /** As it was seen first: audio comes once there is more. Null: what is there is enough. */
  seen: { readonly tape: AudioTape | undefined; readonly head: number } | null;
}

/** Whether a listener can be sent a burst. */
export function canBegin({ hasAudio, audio }: Mount): boolean {
  return hasAudio && audio.hasSegments;
}

/** Whether it has audio, or has it in a moment: its source is on air, and no delay line has to fill. */
export function isThere(mount: Mount): boolean {
  return canBegin(mount) || (mount.hasAudio && mount.audio.delayMs === 0);
}

/** Whether audio may come. What another process still has comes, though no source does while an encoder is waited for. */
export function isWorthWaiting(mount: Mount): boolean {
  return mount.hopeful || canBegin(mount);
}

/** Whether the tape is in this process: it comes when the first listener has taken a place. */
export function isHere({ audio: { tape } }: Where): boolean {
  return tape !== undefined && tape.head > tape.tail;
}

/** A tape may hold what its channel had before: behind that its delay line may still have to fill. */
export function isReady(moving: MovingListener): boolean {
  const { mount, seen } = moving;
  if (!isHere(mount)) return false;
  const tape = mount.audio.tape!;
  if (seen === null) return tape.head >= (tape.comesTo ?? 0);
  if (seen.tape === tape) return tape.head > seen.head;
  moving.seen = { tape, head: tape.head };
  return false;
}

/**
 * The head of its stream holds there too: it has said a type, and bytes between two blocks. Ogg begins with what only its own head has. And its
 * player can go on in that format.
 */
export function fits(
  { contentType, metaint, phase, format }: Pick<Stay, 'contentType' | 'metaint' | 'phase' | 'format'>,
  to: PlayableAudio,
): boolean {
  if (to.contentType !== contentType || contentType === 'audio/ogg') return false;
  if (format !== null && !canFollow(format, to)) return false;
  return metaint === null || phase !== null || to.metaint === metaint;
}
