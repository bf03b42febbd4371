/**
 * The messages between the supervisor and its children, as JSON over Node's IPC channel; a socket may go with one.
 * A child first states which version it speaks. The supervisor, which no restart replaces, ends a child that speaks another version than its own.
 */

import type { ReloadSteps } from '../app/reload.js';
import type { ReloadResults } from '../app/reload-results.js';
import type { ProvenHttpEncoder, ProvenShoutcastEncoder } from '../http/ingest/proven.js';
import type { ConnectionPosition } from '../source/encoder-connection.js';
import type { ConfigSource } from './reload/configuration.js';

/**
 * Raised with every change of these messages that a process of the former version cannot ignore; content for hubs and workers has the version of the
 * link (link/wire/link-version.ts). A supervisor of another version must be stopped and started.
 */
export const MESSAGES_VERSION = 3;

/**
 * The version of the steps of a reload (ReloadStep), raised with every change of them. A child states the version that it knows with `ready`; if it
 * differs, a reload is a rolling restart.
 */
export const STEPS_VERSION = 2;

export type ProcessRole = 'hub' | 'worker';

/** What a child needs to begin. */
export interface Boot {
  readonly source: ConfigSource;
  /** Unique to this process: no other process of this server has had it. */
  readonly number: number;
  readonly hub: HubAddress;
  /** For a hub: how many processes may have tapes of the previous one; null if that hub still runs, and hands over (`go`). */
  readonly offers: number | null;
  /** For a hub: channels whose tapes it does not take back (suspect-tapes.ts). Absent: none. */
  readonly without?: readonly string[];
}

/** Where a hub is reached. An object with this member, as supervisors of earlier versions send it. */
export interface HubAddress {
  /** The path of its local socket (hub-socket.ts). */
  readonly link: string;
}

/** An encoder without its socket. */
export type SentEncoder = Omit<ProvenHttpEncoder, 'socket'> | Omit<ProvenShoutcastEncoder, 'socket'>;

/** An encoder's connection that a hub hands over, without its socket. */
export interface SentConnection {
  readonly channel: string;
  readonly position: ConnectionPosition;
  /** How far it is ahead of real time, milliseconds. */
  readonly aheadMs: number;
}

/** Takes a socket to the hub. The supervisor adds what it has read from the socket, and passes it on. */
export interface SocketLetter {
  readonly type: 'encoder' | 'connection';
  /** A SentEncoder or SentConnection, encoded (encoder-schema.ts). */
  readonly text: string;
  /** What was read from the socket on the way, base64. */
  readonly ahead: string;
  /** LINK_VERSION of the process that sends it. */
  readonly version: number;
}

/**
 * A step of a reload, which all processes take before the next one begins. Each is answered.
 *
 *   prepare ──► listen ──► commit          if one refuses a step: discard ──► restore, and the present configuration stays in force
 */
export type ReloadStep = keyof ReloadSteps;

/** Identifies a step among the requests to a child, since all steps of a reload have the same number. */
export function stepKey(id: number, step: ReloadStep): string {
  return `${id} ${step}`;
}

export type ToChild =
  | { readonly type: 'boot'; readonly boot: Boot }
  /** To a worker: a new hub takes back the tapes of the previous one. */
  | { readonly type: 'offer'; readonly hub: HubAddress }
  /** To a worker: another hub serves. */
  | { readonly type: 'hub'; readonly hub: HubAddress }
  /** To a hub: hand over to the one with these paths. */
  | { readonly type: 'handover'; readonly hub: HubAddress }
  /** To a hub that waits: the previous one has released everything. @param offers as in Boot */
  | { readonly type: 'go'; readonly offers: number }
  /** To a worker: accept no more connections, serve the present ones, and report when the last has ended. */
  | { readonly type: 'drain' }
  /** To the hub: how often processes were restarted. */
  | { readonly type: 'restarts'; readonly restarts: Readonly<Record<ProcessRole, number>> }
  | { readonly type: 'stop'; readonly graceMs: number }
  | { readonly type: 'reopen' }
  /** To a hub: copy the store. @param id of the answer */
  | { readonly type: 'backup'; readonly id: number }
  /** To a worker: what the reload that it asked for has changed, or why it failed. */
  | { readonly type: 'reloaded'; readonly id: number; readonly plan: string | null; readonly reason: string | null }
  /** @param source only with `prepare` */
  | { readonly type: 'reloadStep'; readonly id: number; readonly step: ReloadStep; readonly source?: ConfigSource }
  /** To the hub: the results of reloads. */
  | { readonly type: 'reloads'; readonly results: ReloadResults }
  /** To the hub: an encoder that has connected, or one of the previous hub. */
  | SocketLetter;

export type FromChild =
  /** The child runs and can start its work. The first message: its form never changes. */
  | { readonly type: 'waiting'; readonly version: number }
  | { readonly type: 'alive' }
  /** A hub takes back tapes. */
  | { readonly type: 'taking' }
  /** A hub is putting the tape of this channel in place; null: all are in place. An older supervisor ignores it. */
  | { readonly type: 'takes'; readonly channel: string | null }
  /** A hub waits for the previous one to hand over; or a worker waits for a hub that speaks its version of the link. */
  | { readonly type: 'standby' }
  /** A hub has handed over. */
  | { readonly type: 'released' }
  /** A worker has served its last connection. */
  | { readonly type: 'drained' }
  /** The child serves. @param steps its STEPS_VERSION; undefined: it knows no steps */
  | {
      readonly type: 'ready';
      readonly ports: readonly number[];
      readonly shoutcastPorts: readonly (number | null)[];
      readonly steps?: number;
    }
  /** The answer to a step. @param reason why the child refuses it; null: it is done */
  | {
      readonly type: 'reloadStep';
      readonly id: number;
      readonly step: ReloadStep;
      readonly reason: string | null;
    }
  /** From a hub: the name of the copy in the data folder, or why it could not be made. */
  | { readonly type: 'backedUp'; readonly id: number; readonly name: string | null; readonly reason: string | null }
  /** From a worker: an operator asks for a reload. @param id of the answer */
  | { readonly type: 'reload'; readonly id: number }
  /** The child cannot start, and ends. */
  | { readonly type: 'failed'; readonly reason: string }
  /** For the hub: an encoder that has connected; for the next hub: an encoder's connection. */
  | SocketLetter;

/** How often a child sends a sign of life, and after what silence it counts as hanging, milliseconds. */
export const [ALIVE_MS, HANGING_MS] = [1000, 2500];
