/**
 * What the supervisor and its children say to each other, as JSON over the channel that Node makes between them; a socket may go with it.
 * A child says first which version of it it speaks; with another one than its own a supervisor, which no restart replaces, ends it.
 */

import type { ReloadSteps } from '../app/reload.js';
import type { ReloadResults } from '../app/reload-results.js';
import type { ProvenHttpEncoder, ProvenShoutcastEncoder } from '../http/ingest/proven.js';
import type { ConnectionPlace } from '../source/encoder-connection.js';
import type { ConfigSource } from './reload/configuration.js';

/**
 * Raised with every change of these messages, but for what only hubs and workers read of them, which has the version of the link
 * (link/wire/link-version.ts), and for what may be missing without harm: an unknown message is ignored.
 * A supervisor with another one must be stopped and started.
 */
export const MESSAGES_VERSION = 3;

/**
 * Of the steps of a reload (ReloadStep), which a child may not know: it says with `ready` which version it speaks. Between others a reload is a
 * rolling restart. Raised with every change of the steps.
 */
export const STEPS_VERSION = 2;

/** What a child process is. */
export type ProcessRole = 'hub' | 'worker';

/** What a child needs to begin. */
export interface Boot {
  readonly source: ConfigSource;
  /** Its own, which no other process of this server has had. */
  readonly number: number;
  /** Where the hub takes the links of workers, and encoders' bytes. */
  readonly hub: HubPaths;
  /** Of a hub: how many processes may have tapes of the one before it; null: that one is still there, and hands over (`go`). */
  readonly offers: number | null;
  /** Of a hub: channels whose tape it does not take back (suspect-tapes.ts). Absent: none. */
  readonly without?: readonly string[];
}

/** Local sockets of one hub. */
export interface HubPaths {
  readonly link: string;
  readonly encoders: string;
  readonly tapes: string;
}

/** An encoder without its socket. */
export type SentEncoder = Omit<ProvenHttpEncoder, 'socket'> | Omit<ProvenShoutcastEncoder, 'socket'>;

/** An encoder's connection that its hub has let go, without its socket. */
export interface SentConnection {
  readonly channel: string;
  readonly place: ConnectionPlace;
  /** How far it is ahead of real time, milliseconds. */
  readonly aheadMs: number;
}

/** With a socket, for the hub. The supervisor adds what it has read of the socket, and passes it on. */
export interface SocketLetter {
  readonly type: 'encoder' | 'connection';
  /** A SentEncoder, or SentConnection, as `encode` has made it (encoder-schema.ts). */
  readonly text: string;
  /** What was read of the socket on the way: base64. */
  readonly ahead: string;
  /** Of the link, at the process that sends it. */
  readonly version: number;
}

/**
 * A step of a reload, which all processes take before the next one. Each is answered.
 *
 *   prepare ──► listen ──► commit          where one refuses a step: discard ──► restore, and what was before stays in force
 */
export type ReloadStep = keyof ReloadSteps;

/** A step among the requests of a child: all steps of a reload have the same number. */
export function stepKey(id: number, step: ReloadStep): string {
  return `${id} ${step}`;
}

export type ToChild =
  | { readonly type: 'boot'; readonly boot: Boot }
  /** A new hub takes back the tapes of the one before it. */
  | { readonly type: 'offer'; readonly hub: HubPaths }
  /** There is another hub. */
  | { readonly type: 'hub'; readonly hub: HubPaths }
  /** To a hub: it hands over to the one with these paths. */
  | { readonly type: 'handover'; readonly hub: HubPaths }
  /** To a hub that waits: the one before it has let go of all. @param offers as Boot has it */
  | { readonly type: 'go'; readonly offers: number }
  /** To a worker: it takes no more connections, serves those that it has, and says when the last has ended. */
  | { readonly type: 'drain' }
  /** For the hub: how often processes were started again. */
  | { readonly type: 'restarts'; readonly restarts: Readonly<Record<ProcessRole, number>> }
  | { readonly type: 'stop'; readonly graceMs: number }
  | { readonly type: 'reopen' }
  /** To a hub: it makes a copy of its store. @param id of the answer */
  | { readonly type: 'backup'; readonly id: number }
  /** To a worker: what a reload that it asked for has changed, or why it was not made. */
  | { readonly type: 'reloaded'; readonly id: number; readonly plan: string | null; readonly reason: string | null }
  /** @param source of `prepare` */
  | { readonly type: 'reloadStep'; readonly id: number; readonly step: ReloadStep; readonly source?: ConfigSource }
  /** For the hub: what became of reloads. */
  | { readonly type: 'reloads'; readonly results: ReloadResults }
  /** To the hub: an encoder that has come, or one of the hub before it. */
  | SocketLetter;

export type FromChild =
  /** It runs, and can begin. The first message: it never changes. */
  | { readonly type: 'waiting'; readonly version: number }
  | { readonly type: 'alive' }
  /** A hub: it takes back tapes. */
  | { readonly type: 'taking' }
  /** A hub: it is putting the tape of this channel in place; null: all are in place. An older supervisor ignores it. */
  | { readonly type: 'takes'; readonly channel: string | null }
  /** A hub that waits for the one before it; a worker that cannot speak with the hub, and waits for one of its own version. */
  | { readonly type: 'standby' }
  /** A hub has handed over. */
  | { readonly type: 'released' }
  /** A worker has no connection any more. */
  | { readonly type: 'drained' }
  /** @param steps STEPS_VERSION; undefined: it knows none */
  | {
      readonly type: 'ready';
      readonly ports: readonly number[];
      readonly shoutcastPorts: readonly (number | null)[];
      readonly steps?: number;
    }
  /** What became of a step. @param reason why it cannot be; null: it is done */
  | {
      readonly type: 'reloadStep';
      readonly id: number;
      readonly step: ReloadStep;
      readonly reason: string | null;
    }
  /** A hub: the copy's name in the data folder, or why there is none. */
  | { readonly type: 'backedUp'; readonly id: number; readonly name: string | null; readonly reason: string | null }
  /** A worker: an operator wants the configuration to be read again. @param id of the answer */
  | { readonly type: 'reload'; readonly id: number }
  /** It cannot start, and ends. */
  | { readonly type: 'failed'; readonly reason: string }
  /** For the hub: an encoder that has come; for the next hub: the connection of one. */
  | SocketLetter;

/** How often a child says that it is alive, and after how long without it is taken for hanging, milliseconds. */
export const [ALIVE_MS, HANGING_MS] = [1000, 2500];
