/** Reports for operators, and their questions, as plain data, in one process and over a link. Times are unix milliseconds. */

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

export interface SourceReport {
  /** Its index in the configuration, from 0. */
  readonly place: number;
  readonly kind: 'encoder' | 'pull' | 'file';
  readonly state: 'idle' | 'starting' | 'up';
  readonly isOnAir: boolean;
  /** An encoder's; "": unknown. */
  readonly address: string;
  /** An encoder's User-Agent; "": unknown. */
  readonly agent: string;
  /** When an encoder or upstream connected; null: it is not connected, or it is a file. */
  readonly sinceMs: number | null;
  /** Measured over 10 s; 0: unknown yet. */
  readonly bitrateKbps: number;
  readonly contentType: string | null;
  /** Present faults: stalled, unsteady, bitrate-off, silent. */
  readonly troubles: readonly string[];
  /** Event → number of reports since the start. */
  readonly events: Readonly<Record<string, number>>;
  /** The number of an upstream's URL in use (from 1); null: none. */
  readonly upstream: number | null;
}

export interface ChannelSources {
  readonly channel: string;
  /** The index of the source on air; null: none. */
  readonly onAir: number | null;
  /** The index of the source that an operator has chosen; null: the best one plays. */
  readonly pinned: number | null;
  readonly onAirSinceMs: number | null;
  /** When its audio ended; null: there is audio. */
  readonly silentSinceMs: number | null;
  /** The mount whose audio replaces its own while it has none; null: none. */
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
  /** Number of pushes that wait for their time. */
  readonly held: number;
  /** Number of distinct listeners, as far as connections show it. Peaks are those since the start. */
  readonly listeners: number;
  readonly peakListeners: number;
  readonly connections: number;
  readonly peakConnections: number;
  /** HlsCrowd's estimate, not in `listeners`. */
  readonly hlsListeners: number;
  readonly maxListeners: number | null;
  /** The lag of the median listener behind the live edge; null: there are no listeners. */
  readonly lagMs: number | null;
  readonly isPublic: boolean;
}

export interface TapeReport {
  /** Audio in complete segments. */
  readonly heldMs: number;
  readonly bytes: number;
  readonly segments: number;
  /** Bytes between two ICY blocks; null: titles are in the stream itself (Ogg). */
  readonly metaint: number | null;
  /** As configured. */
  readonly delayMs: number;
  /** In the delay line now. */
  readonly delayedMs: number;
}

/** A title at its place on the tape. */
export interface TapeTitle {
  readonly id: string;
  readonly title: string;
  /** Its distance from the live edge, milliseconds of audio; a minimum for the first title. */
  readonly behindMs: number;
}

/** Details of one channel, from the hub. */
export interface ChannelDepth {
  /** Oldest first. */
  readonly timeline: readonly TimelineEntry[];
  /** Null: there was no audio yet. */
  readonly tape: TapeReport | null;
  /** Oldest first: the title in force at the beginning of the tape, and later ones. */
  readonly titles: readonly TapeTitle[];
}

/** Figures about one channel's listeners, in one process or in all. */
export interface CrowdReport {
  /** Ending → number since the process started. */
  readonly endings: Readonly<Record<string, number>>;
  /** Number of listeners by whole seconds behind the live edge; the last includes all that are further behind. */
  readonly bySecondsBehind: readonly number[];
}

/** Selects the listeners that match all present members. */
export interface ListenerFilter {
  readonly ids?: readonly string[] | undefined;
  readonly channel?: string | undefined;
  /** An address or a network. */
  readonly address?: string | undefined;
  /** A part of the user agent, case-insensitive. */
  readonly agent?: string | undefined;
}

/** The ages of the listeners of one process. */
export interface ListenerAges {
  readonly process: number;
  /** Number of matching listeners. */
  readonly total: number;
  /** When they connected, oldest first, by the system's monotonic clock; at most as many as requested. */
  readonly startedMs: readonly number[];
}

/** A push token that an operator has created. */
export interface MadeToken {
  readonly id: string;
  readonly channel: string;
  readonly name: string;
  readonly sinceMs: number;
  readonly by: string;
  /** SHA-256, in hexadecimal. */
  readonly sha256: string;
  /** When it expires, if another token has replaced it; null: never. */
  readonly untilMs: number | null;
}

/** State that all processes know. */
export interface AdminState {
  readonly blocks: readonly AdminBlock[];
  readonly tokens: readonly MadeToken[];
  readonly fallbacks: readonly ChannelFallback[];
  readonly logins: LoginState;
}
export const NO_ADMIN_STATE: AdminState = { blocks: [], tokens: [], fallbacks: [], logins: NO_LOGINS };

export interface TokenReport {
  /** Unique. A configured token has its channel and index there, such as `config-demo-1`, and cannot be revoked here. */
  readonly id: string;
  readonly channel: string;
  readonly name: string;
  readonly isConfigured: boolean;
  readonly sinceMs: number | null;
  readonly by: string | null;
  readonly untilMs: number | null;
  readonly lastUsedMs: number | null;
}

export interface ProcessQuestions {
  ages: { readonly ask: ListenerFilter & { readonly most: number }; readonly answer: ListenerAges };
  /** The listeners at these positions by age, by the number of the process. */
  listeners: {
    readonly ask: ListenerFilter & {
      readonly ranges: Readonly<Record<string, { readonly from: number; readonly count: number }>>;
    };
    readonly answer: readonly ListenerReport[];
  };
  /** The number of ended listeners. */
  end: { readonly ask: ListenerFilter; readonly answer: number };
  /** Numbers of listeners that were moved, and that could not be. */
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
  /** Lines logged after this time. */
  log: { readonly ask: { readonly afterMs: number }; readonly answer: readonly LogLine[] };
  /** Id of a token → its last use. */
  used: { readonly ask: null; readonly answer: Readonly<Record<string, number>> };
}
export type ProcessQuestion = keyof ProcessQuestions;

/** The location of the cluster's shared log: in Redis, at an origin, in this process. */
export type ClusterPlace = 'Redis' | 'an origin' | 'here';

/** A node of a cluster, and its view of the others (src/cluster/README.md). */
export interface ClusterReport {
  readonly node: string;
  /** The shared log. */
  readonly log: {
    readonly place: ClusterPlace;
    readonly reached: boolean;
    /** Seconds since the log was last read to its end. */
    readonly behindSeconds: number;
    /** Seconds by which the node's own clock is ahead of the clock there. */
    readonly clockSeconds: number;
    /** Number of changes that are not sent there yet. */
    readonly waitingChanges: number;
    /** The number of the last change that the node has read. */
    readonly position: number;
  };
  /** Faults that operators must correct: a wrong clock, a channel with other settings at another node. */
  readonly warnings: readonly string[];
  /** The nodes that share audio, and when each was last seen. */
  readonly nodes: readonly { readonly node: string; readonly seenSeconds: number }[];
  /** The node that feeds each channel. Empty: audio is not shared. */
  readonly channels: readonly {
    readonly channelkey: string;
    /** '': none. */
    readonly owner: string;
    readonly epoch: number;
    /** The channel's state at this node. */
    readonly phase: string;
  }[];
}

export interface HubQuestions extends LoginQuestions {
  /** Null: no cluster. */
  cluster: { readonly ask: null; readonly answer: ClusterReport | null };
  channels: { readonly ask: null; readonly answer: readonly ChannelSources[] };
  /** Rejects with a Refusal if there is no such channel. */
  depth: { readonly ask: { readonly channel: string }; readonly answer: ChannelDepth };
  /** Whether one was connected. */
  endEncoder: { readonly ask: { readonly channel: string }; readonly answer: boolean };
  /** Rejects with a Refusal if its encoder cannot become that of the other channel. */
  moveEncoder: { readonly ask: { readonly channel: string; readonly to: string }; readonly answer: null };
  /** Chooses a source by its index; null: the best one plays again. Rejects with a Refusal if there is no such source, or it has no audio. */
  pin: { readonly ask: { readonly channel: string; readonly place: number | null }; readonly answer: ChannelSources };
  state: { readonly ask: null; readonly answer: AdminState };
  /** Last uses of tokens, by id; those of configured tokens by channel and index. */
  used: { readonly ask: null; readonly answer: Readonly<Record<string, number>> };
  block: { readonly ask: AdminBlock; readonly answer: null };
  /** Whether it was blocked. */
  unblock: { readonly ask: { readonly network: string }; readonly answer: boolean };
  /** Replaces the previous fallback. Rejects with a Refusal if there is no such channel or mount, or the mount is the channel's own. */
  putFallback: { readonly ask: ChannelFallback; readonly answer: null };
  /** Whether there was one. */
  removeFallback: { readonly ask: { readonly channel: string }; readonly answer: boolean };
  putToken: { readonly ask: MadeToken; readonly answer: null };
  /** Replaces a token; the old one is valid until `untilMs` (null: it ends at once). Rejects with a Refusal if it is gone or already replaced. */
  rotateToken: {
    readonly ask: { readonly id: string; readonly made: MadeToken; readonly untilMs: number | null };
    readonly answer: null;
  };
  /** Whether it existed. */
  revokeToken: { readonly ask: { readonly id: string }; readonly answer: boolean };
}
export type HubQuestion = keyof HubQuestions;

/** Sends questions. `all`: to all processes; the answers of those that are late are missing. */
export interface AdminQueries {
  hub<Q extends HubQuestion>(question: Q, ask: HubQuestions[Q]['ask']): Promise<HubQuestions[Q]['answer']>;
  all<Q extends ProcessQuestion>(
    question: Q,
    ask: ProcessQuestions[Q]['ask'],
  ): Promise<readonly ProcessQuestions[Q]['answer'][]>;
}

/** The beginning of a metaid, which is secret: enough to distinguish two. */
export function masked(metaid: string): string {
  return `${metaid.slice(0, Math.min(4, Math.floor(metaid.length / 4)))}…`;
}
