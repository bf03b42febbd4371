/** What a listener is given: its request, its place on the tape, and its owner. */

import type { Phase } from '../../audio/tape/phase.js';
import type { PlayerClock } from '../player/player-clock.js';
import type { Runs } from '../sessions/runs.js';
import type { Session } from '../sessions/session.js';
import type { Ending } from './ending.js';
import type { WriteSeconds } from './pace.js';

/** The client of a listener, by its request. */
export interface ListenerClient {
  readonly mount: string;
  /** The player's, not a proxy's. */
  readonly address: string;
  readonly agent: string;
  readonly referer: string;
}

/** Constant while it listens to one tape. */
export interface ListenerFacts {
  readonly channel: string;
  /** Unique in this process; 0: none. */
  readonly id: number;
  /** Null: unknown. */
  readonly client: ListenerClient | null;
  readonly startedMs: number;
  /** The most seconds between two writes that its start on the tape allows. */
  readonly maxWriteSeconds: WriteSeconds;
}

/** How a listener begins. */
export interface ListenerStart {
  readonly channel: string;
  /** The segment with which it begins, or the first behind it that has an entry. */
  readonly cursor: number;
  readonly icy: boolean;
  readonly session: Session | null;
  readonly nowMs: number;
  /** The clock of the same listener on its previous tape. Absent: it had none. */
  readonly player?: PlayerClock | undefined;
  /** Unique in this process. */
  readonly id?: number;
  /** Absent: unknown. */
  readonly client?: ListenerClient | undefined;
  /** Shared buffers of its tape. Absent: none. */
  readonly runs?: Runs;
  /** The most seconds between two writes that its start on the tape allows. Absent: 1. */
  readonly maxWriteSeconds?: WriteSeconds;
  /** Audio that is kept back for now, at most. */
  readonly heldBackMs?: number;
  /** Places its blocks, if they are further apart than those of the tape. Absent, null: the tape's own. */
  readonly phase?: Phase | null | undefined;
  /** The rest of the frame that its previous tape left incomplete. Absent: none. */
  readonly cut?: Buffer | undefined;
  /** Whether its player cannot continue in another sample rate or number of channels: it is ended before that. */
  readonly endsOnFormatChange?: boolean | undefined;
}

/** Ends or moves it: the audience that it is in (listener-stay.ts). */
export interface ListenerOwner {
  /** Idempotent. */
  end(ending: Ending): void;
  /** Gives up its socket at the end of a segment; null: it has ended. */
  release(): { readonly bytes: number; readonly lastedMs: number; readonly cut: Buffer } | null;
  /** Continues on its channel's present tape, or on the next. False: it cannot. */
  onTapeOver(): boolean;
  /** Continues at another mount, by its path. False: it cannot. @param comesBack whether it returns once its own mount has audio */
  move(path: string, comesBack: boolean): boolean;
}
