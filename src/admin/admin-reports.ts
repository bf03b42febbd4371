/** What operators see of the server and ask of it, as plain data, in one process and over a link. Times are unix milliseconds. */

import type { TimelineEntry } from '../channel/source-timeline.js';
import type { HlsState } from '../hls/channel-hls.js';
import { type LoginQuestions, type LoginState, NO_LOGINS } from './logins.js';
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
  /** Its index in the configuration, from 0. */
  readonly place: number;
  readonly kind: 'encoder' | 'pull' | 'file';
  readonly state: 'idle' | 'starting' | 'up';
  readonly isOnAir: boolean;
  /** Of an encoder: its address and User-Agent; "": unknown. */
  readonly address: string;
  readonly agent: string;
  /** Since when an encoder or upstream has been connected; null: it is not, or it is a file. */
  readonly sinceMs: number | null;
  /** Measured over 10 s; 0: unknown yet. */
  readonly bitrateKbps: number;
  readonly contentType: string | null;
  /** Present faults: stalled, unsteady, bitrate-off, silent. */
  readonly troubles: readonly string[];
  /** Event → how often it was reported since the start. */
  readonly events: Readonly<Record<string, number>>;
  /** Of an upstream: the number of the URL in use, from 1; null: none. */
  readonly upstream: number | null;
}

/** A channel and its sources. */
export interface ChannelSources {
  readonly channel: string;
  /** The index of the source on air; null: none. */
  readonly onAir: number | null;
  /** The index of the source that an operator has chosen; null: the best one plays. */
  readonly pinned: number | null;
  readonly onAirSinceMs: number | null;
  /** Since when there has been no audio; null: there is. */
  readonly silentSinceMs: number | null;
  /** The mount that stands in for it while it has no audio; null: none does. */
  readonly fallback: string | null;
  readonly hls: HlsState | null;
  readonly sources: readonly SourceReport[];
}

/** A channel at a glance. */
export interface ChannelReport extends ChannelSources {
  readonly station: string;
  readonly name: string;
  readonly genre: string;
  readonly description: string;
  /** Its paths; statistics name the first. */
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
  /** Different listeners, as far as connections show it, and connections; peaks since the start. `hlsListeners`: HlsCrowd's estimate, beside them. */
  readonly listeners: number;
  readonly peakListeners: number;
  readonly connections: number;
  readonly peakConnections: number;
  readonly hlsListeners: number;
  readonly maxListeners: number | null;
  /** The lag of the median listener behind the live edge; null: there are no listeners. */
  readonly lagMs: number | null;
  readonly isPublic: boolean;
}

/** The tape of a channel. */
export interface TapeReport {
  /** Audio in complete segments. */
  readonly heldMs: number;
  readonly bytes: number;
  readonly segments: number;
  /** Bytes between two ICY blocks; null: titles are in the stream itself (Ogg). */
  readonly metaint: number | null;
  /** The configured delay behind the source, and how much audio is in the delay line now. */
  readonly delayMs: number;
  readonly delayedMs: number;
}

/** A title at its place on the tape. */
export interface TapeTitle {
  readonly id: string;
  readonly title: string;
  /** Where it takes effect: milliseconds of audio behind the live edge; of the first one at least. */
  readonly behindMs: number;
}

/** Details of one channel, from the process with the sources. */
export interface ChannelDepth {
  /** Oldest first. */
  readonly timeline: readonly TimelineEntry[];
  /** Null: there was no audio yet. */
  readonly tape: TapeReport | null;
  /** Oldest first: the one in force at the beginning of the tape, and those after it. */
  readonly titles: readonly TapeTitle[];
}

/** Figures of one channel's listeners, of one process or of all. */
export interface CrowdReport {
  /** Ending → how many since the process started. */
  readonly endings: Readonly<Record<string, number>>;
  /** By whole seconds behind the live edge: how many listeners; the last one counts all that are further behind. */
  readonly bySecondsBehind: readonly number[];
}

/** Selects listeners that match all members that are present. */
export interface ListenerFilter {
  readonly ids?: readonly string[] | undefined;
  readonly channel?: string | undefined;
  /** An address or a network. */
  readonly address?: string | undefined;
  /** A part of the user agent, case-insensitive. */
  readonly agent?: string | undefined;
}

/** The ages of one process's listeners. */
export interface ListenerAges {
  readonly process: number;
  /** Of those that match. */
  readonly total: number;
  /** When they connected, oldest first, by the system's monotonic clock; only the first ones. */
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
  /** When it expires, after another one has replaced it; null: never. */
  readonly untilMs: number | null;
}

/** Known in all processes. */
export interface AdminState {
  readonly blocks: readonly AdminBlock[];
  readonly tokens: readonly MadeToken[];
  readonly fallbacks: readonly ChannelFallback[];
  readonly logins: LoginState;
}
export const NO_ADMIN_STATE: AdminState = { blocks: [], tokens: [], fallbacks: [], logins: NO_LOGINS };

export interface TokenReport {
  /** Unique. Of the configuration's tokens: channel and index there, such as `config-demo-1`; those cannot be revoked here. */
  readonly id: string;
  readonly channel: string;
  readonly name: string;
  readonly isConfigured: boolean;
  readonly sinceMs: number | null;
  readonly by: string | null;
  readonly untilMs: number | null;
  readonly lastUsedMs: number | null;
}

/** Questions to all processes. */
export interface ProcessQuestions {
  ages: { readonly ask: ListenerFilter & { readonly most: number }; readonly answer: ListenerAges };
  /** Those at these positions by age, for each process by its number. */
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

/** Where the shared log of the cluster is: in Redis, at an origin, in this process. */
export type ClusterPlace = 'Redis' | 'an origin' | 'here';

/** A node of a cluster, and what it knows of the others (src/cluster/README.md). */
export interface ClusterReport {
  readonly node: string;
  /** The shared log. */
  readonly log: {
    readonly place: ClusterPlace;
    readonly reached: boolean;
    /** Seconds since the log was last read to its end. */
    readonly behindSeconds: number;
    /** Seconds by which its own clock is ahead of the clock there. */
    readonly clockSeconds: number;
    /** Changes that are not sent there yet. */
    readonly waitingChanges: number;
    /** The number of the last change that it has read. */
    readonly position: number;
  };
  /** What operators have to correct: a wrong clock, a channel with other settings at another node. */
  readonly warnings: readonly string[];
  /** The nodes that share audio, and when each was last seen. */
  readonly nodes: readonly { readonly node: string; readonly seenSeconds: number }[];
  /** Which node feeds which channel. Empty: audio is not shared. */
  readonly channels: readonly {
    readonly channelkey: string;
    /** '': none. */
    readonly owner: string;
    readonly epoch: number;
    /** The channel's state at this node. */
    readonly phase: string;
  }[];
}

/** Questions to the process with the sources. */
export interface HubQuestions extends LoginQuestions {
  /** Null: there is no cluster. */
  cluster: { readonly ask: null; readonly answer: ClusterReport | null };
  channels: { readonly ask: null; readonly answer: readonly ChannelSources[] };
  /** Rejects with a Refusal where there is no such channel. */
  depth: { readonly ask: { readonly channel: string }; readonly answer: ChannelDepth };
  /** Whether there was one. */
  endEncoder: { readonly ask: { readonly channel: string }; readonly answer: boolean };
  /** Rejects with a Refusal if its encoder cannot become the one of the other channel. */
  moveEncoder: { readonly ask: { readonly channel: string; readonly to: string }; readonly answer: null };
  /** Chooses a source by its index; null: the best one plays again. Rejects with a Refusal if there is no such source, or it has no audio. */
  pin: { readonly ask: { readonly channel: string; readonly place: number | null }; readonly answer: ChannelSources };
  state: { readonly ask: null; readonly answer: AdminState };
  /** When tokens were used last, by id; those of the configuration by channel and index. */
  used: { readonly ask: null; readonly answer: Readonly<Record<string, number>> };
  block: { readonly ask: AdminBlock; readonly answer: null };
  /** Whether it was blocked. */
  unblock: { readonly ask: { readonly network: string }; readonly answer: boolean };
  /** Replaces the one before. Rejects with a Refusal if there is no such channel or mount, or both are the same channel. */
  putFallback: { readonly ask: ChannelFallback; readonly answer: null };
  /** Whether there was one. */
  removeFallback: { readonly ask: { readonly channel: string }; readonly answer: boolean };
  putToken: { readonly ask: MadeToken; readonly answer: null };
  /** Replaces a token; the old one is valid until `untilMs` (null: ends at once). Rejects with a Refusal if it is gone or replaced already. */
  rotateToken: {
    readonly ask: { readonly id: string; readonly made: MadeToken; readonly untilMs: number | null };
    readonly answer: null;
  };
  /** Whether it existed. */
  revokeToken: { readonly ask: { readonly id: string }; readonly answer: boolean };
}
export type HubQuestion = keyof HubQuestions;

/** Sends questions. `all`: to all processes; those that do not answer in time are left out. */
export interface AdminQueries {
  hub<Q extends HubQuestion>(question: Q, ask: HubQuestions[Q]['ask']): Promise<HubQuestions[Q]['answer']>;
  all<Q extends ProcessQuestion>(
    question: Q,
    ask: ProcessQuestions[Q]['ask'],
  ): Promise<readonly ProcessQuestions[Q]['answer'][]>;
}

/** The beginning of a secret name, enough to distinguish two. */
export function masked(metaid: string): string {
  return `${metaid.slice(0, Math.min(4, Math.floor(metaid.length / 4)))}…`;
}
