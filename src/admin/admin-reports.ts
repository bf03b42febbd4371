/**
 * What an operator sees of the server, and asks of it, as plain data: the same in one process and over a link. Times are unix milliseconds. Made by
 * the rooms that own the state; answered as they are by `/admin/api` (http/admin/README.md).
 */

import type { TimelineEntry } from '../channel/source-timeline.js';
import type {
  AdminBlock,
  ChannelFallback,
  ListenerReport,
  LogLine,
  RefusalReport,
  SessionReport,
  WatcherReport,
} from './rows.js';

export type { AdminBlock, ChannelFallback, ListenerReport, LogLine, RefusalReport, SessionReport, WatcherReport };

/** A source of a channel. */
export interface SourceReport {
  /** As the configuration counts them, from 0. */
  readonly place: number;
  readonly kind: 'encoder' | 'pull' | 'file';
  readonly state: 'idle' | 'starting' | 'up';
  readonly isOnAir: boolean;
  /** Of an encoder: where it comes from, and what it calls itself; "": not known. */
  readonly address: string;
  readonly agent: string;
  /** Of an encoder or upstream: since when it has been there; null: it is not, or of a file. */
  readonly sinceMs: number | null;
  /** Measured over 10 s; 0: not known yet. */
  readonly bitrateKbps: number;
  readonly contentType: string | null;
  /** What is wrong with it now: stalled, unsteady, bitrate-off, silent. */
  readonly troubles: readonly string[];
  /** How often each of its events was reported since the start. */
  readonly events: Readonly<Record<string, number>>;
  /** Of an upstream: which of its URLs is used, from 1; null: none. */
  readonly upstream: number | null;
}

/** A channel as far as its sources go. */
export interface ChannelSources {
  readonly channel: string;
  /** Place of the source on air; null: none. */
  readonly onAir: number | null;
  /** Place of the source that an operator has chosen; null: the best one plays. */
  readonly pinned: number | null;
  readonly onAirSinceMs: number | null;
  /** Since when there has been no audio; null: there is. */
  readonly silentSinceMs: number | null;
  /** The mount that stands in for it while it has no audio; null: none does. */
  readonly fallback: string | null;
  readonly sources: readonly SourceReport[];
}

/** A channel at a glance. */
export interface ChannelReport extends ChannelSources {
  readonly station: string;
  readonly name: string;
  readonly genre: string;
  readonly description: string;
  /** Where it is played; statistics name the first. */
  readonly mounts: readonly string[];
  readonly listenUrl: string;
  readonly contentType: string;
  readonly bitrateKbps: number;
  readonly sampleRate: number;
  readonly audioChannels: number;
  readonly title: string;
  readonly nextTitle: string;
  /** Pushes that wait for their time. */
  readonly held: number;
  /** People, as far as connections show it, and connections; peaks since the start. */
  readonly listeners: number;
  readonly peakListeners: number;
  readonly connections: number;
  readonly peakConnections: number;
  readonly maxListeners: number | null;
  /** How much later than the live edge the median listener hears; null: nobody plays. */
  readonly lagMs: number | null;
  readonly isPublic: boolean;
}

/** What a channel's tape holds. */
export interface TapeReport {
  /** Of audio, whole segments. */
  readonly heldMs: number;
  readonly bytes: number;
  readonly segments: number;
  /** Bytes between two ICY blocks; null: titles stand in the stream itself (Ogg). */
  readonly metaint: number | null;
  /** How much later listeners hear what the source sends, and how much of that waits now. */
  readonly delayMs: number;
  readonly delayedMs: number;
}

/** A title at its place on the tape. */
export interface TapeTitle {
  readonly id: string;
  readonly title: string;
  /** How far behind the live edge it takes effect, milliseconds of audio; of the first one at least so much. */
  readonly behindMs: number;
}

/** What the process with the sources knows of one channel in depth. */
export interface ChannelDepth {
  /** Oldest first. */
  readonly timeline: readonly TimelineEntry[];
  /** Null: nothing has been heard yet. */
  readonly tape: TapeReport | null;
  /** Oldest first: the one in force where the tape begins, and those behind it. */
  readonly titles: readonly TapeTitle[];
}

/** One channel's listeners together, in one process or in all. */
export interface CrowdReport {
  /** Reason → how many have ended for it since the process began. */
  readonly endings: Readonly<Record<string, number>>;
  /** By whole seconds behind the live edge: how many hear what is there; the last one has all who are further. */
  readonly bySecondsBehind: readonly number[];
}

/** Which listeners: all that fit every member that is there. */
export interface ListenerFilter {
  readonly ids?: readonly string[] | undefined;
  readonly channel?: string | undefined;
  /** An address or a network. */
  readonly address?: string | undefined;
  /** A part of the user agent, in any case. */
  readonly agent?: string | undefined;
}

/** How old one process's listeners are. */
export interface ListenerAges {
  readonly process: number;
  /** Of those that fit. */
  readonly total: number;
  /** When the first of them came, oldest first, by the system's monotonic clock. */
  readonly startedMs: readonly number[];
}

/** A push token that was made here. */
export interface MadeToken {
  readonly id: string;
  readonly channel: string;
  readonly name: string;
  readonly sinceMs: number;
  readonly by: string;
  /** SHA-256, in hexadecimal. */
  readonly sha256: string;
  /** After this it is wrong, where another one took its place; null: for ever. */
  readonly untilMs: number | null;
}

/** What every process must know. */
export interface AdminState {
  readonly blocks: readonly AdminBlock[];
  readonly tokens: readonly MadeToken[];
  readonly fallbacks: readonly ChannelFallback[];
}

export const NO_ADMIN_STATE: AdminState = { blocks: [], tokens: [], fallbacks: [] };

export interface TokenReport {
  /** Its own among all. Of the configuration's: channel and place there, such as `config-demo-1`; those cannot be revoked here. */
  readonly id: string;
  readonly channel: string;
  readonly name: string;
  readonly isConfigured: boolean;
  readonly sinceMs: number | null;
  readonly by: string | null;
  readonly untilMs: number | null;
  readonly lastUsedMs: number | null;
}

/** What any process may be asked about itself. */
export interface ProcessQuestions {
  ages: { readonly ask: ListenerFilter & { readonly most: number }; readonly answer: ListenerAges };
  /** Those at these places by age, of each process by its number. */
  listeners: {
    readonly ask: ListenerFilter & {
      readonly places: Readonly<Record<string, { readonly from: number; readonly count: number }>>;
    };
    readonly answer: readonly ListenerReport[];
  };
  /** How many were ended. */
  end: { readonly ask: ListenerFilter; readonly answer: number };
  /** How many were moved, and how many could not be. */
  move: {
    readonly ask: { readonly filter: ListenerFilter; readonly to: string };
    readonly answer: { readonly moved: number; readonly refused: number };
  };
  sessions: {
    readonly ask: { readonly channel?: string | undefined; readonly most: number };
    readonly answer: readonly SessionReport[];
  };
  watchers: { readonly ask: { readonly most: number }; readonly answer: readonly WatcherReport[] };
  refusals: { readonly ask: null; readonly answer: readonly RefusalReport[] };
  crowd: { readonly ask: { readonly channel: string }; readonly answer: CrowdReport };
  /** Lines after this moment. */
  log: { readonly ask: { readonly afterMs: number }; readonly answer: readonly LogLine[] };
  /** Id of a token → when it was used last. */
  used: { readonly ask: null; readonly answer: Readonly<Record<string, number>> };
}
export type ProcessQuestion = keyof ProcessQuestions;

/** Where what all machines have in common is: in Redis, at an origin, in this process. */
export type ClusterPlace = 'Redis' | 'an origin' | 'here';

/** A machine of a cluster, and what it knows of the others (src/cluster/README.md). */
export interface ClusterReport {
  readonly node: string;
  /** What all have in common. */
  readonly log: {
    readonly place: ClusterPlace;
    readonly reached: boolean;
    /** Since what it knows of the log was known to be all of it, seconds. */
    readonly behindSeconds: number;
    /** How far its own clock is ahead of the clock there, seconds. */
    readonly clockSeconds: number;
    /** Changes that wait to be sent there. */
    readonly waitingChanges: number;
    /** The number of the last change that it knows. */
    readonly position: number;
  };
  /** What an operator has to correct: a clock that is wrong, a channel with other settings at another machine. */
  readonly warnings: readonly string[];
  /** When each was here last, as is known there: the machines that share audio. */
  readonly nodes: readonly { readonly node: string; readonly seenSeconds: number }[];
  /** Who feeds what. Empty: audio is not shared. */
  readonly channels: readonly {
    readonly channelkey: string;
    /** '': nobody. */
    readonly owner: string;
    readonly epoch: number;
    /** What it is to this machine. */
    readonly phase: string;
  }[];
}

/** What only the process with the sources can answer. */
export interface HubQuestions {
  /** Null: this machine is alone. */
  cluster: { readonly ask: null; readonly answer: ClusterReport | null };
  channels: { readonly ask: null; readonly answer: readonly ChannelSources[] };
  /** Rejects with a Refusal where there is no such channel. */
  depth: { readonly ask: { readonly channel: string }; readonly answer: ChannelDepth };
  /** Whether there was one. */
  endEncoder: { readonly ask: { readonly channel: string }; readonly answer: boolean };
  /** Rejects with a Refusal where its encoder cannot go on as the one of the other channel. */
  moveEncoder: { readonly ask: { readonly channel: string; readonly to: string }; readonly answer: null };
  /** A source by its place; null: the best one plays again. Rejects with a Refusal where there is no such source, or it has no audio. */
  pin: { readonly ask: { readonly channel: string; readonly place: number | null }; readonly answer: ChannelSources };
  state: { readonly ask: null; readonly answer: AdminState };
  /** When tokens were used last, by id; of those of the configuration by channel and place. */
  used: { readonly ask: null; readonly answer: Readonly<Record<string, number>> };
  block: { readonly ask: AdminBlock; readonly answer: null };
  /** Whether it was blocked. */
  unblock: { readonly ask: { readonly network: string }; readonly answer: boolean };
  /** It takes the place of the one before. Rejects with a Refusal where there is no such channel or mount, or both are the same channel. */
  putFallback: { readonly ask: ChannelFallback; readonly answer: null };
  /** Whether there was one. */
  removeFallback: { readonly ask: { readonly channel: string }; readonly answer: boolean };
  putToken: { readonly ask: MadeToken; readonly answer: null };
  /**
   * Another one takes its place, in one step; the one before goes on until `untilMs` (null: it is wrong at once). Rejects with a Refusal where it is
   * not there any more, or has been replaced already.
   */
  rotateToken: {
    readonly ask: { readonly id: string; readonly made: MadeToken; readonly untilMs: number | null };
    readonly answer: null;
  };
  /** Whether it was there. */
  revokeToken: { readonly ask: { readonly id: string }; readonly answer: boolean };
}
export type HubQuestion = keyof HubQuestions;

/** Who can be asked. `all`: every process, those that do not answer in time apart. */
export interface AdminQueries {
  hub<Q extends HubQuestion>(question: Q, ask: HubQuestions[Q]['ask']): Promise<HubQuestions[Q]['answer']>;
  all<Q extends ProcessQuestion>(
    question: Q,
    ask: ProcessQuestions[Q]['ask'],
  ): Promise<readonly ProcessQuestions[Q]['answer'][]>;
}

/** What one process answers. */
export type AnswerProcess = <Q extends ProcessQuestion>(
  question: Q,
  ask: ProcessQuestions[Q]['ask'],
) => ProcessQuestions[Q]['answer'];
/** What the hub answers. */
export type AnswerHub = <Q extends HubQuestion>(
  question: Q,
  ask: HubQuestions[Q]['ask'],
) => Promise<HubQuestions[Q]['answer']>;

/** As much of a secret name as an operator needs to distinguish two. */
export function masked(metaid: string): string {
  return `${metaid.slice(0, Math.min(4, Math.floor(metaid.length / 4)))}…`;
}
