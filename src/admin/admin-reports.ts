/** Reports for operators, and their questions, as plain data, in one process and over a link. Times are unix milliseconds. */

import type { ChannelDepth, ChannelSources } from './channel-rows.js';
import type { ClusterReport } from './cluster-report.js';
import { type LoginQuestions, type LoginState, NO_LOGINS } from './logins.js';
import type {
  AdminBlock,
  ChannelFallback,
  CrowdReport,
  ListenerReport,
  LogLine,
  MadeToken,
  RefusalReport,
  SessionReport,
  WatcherReport,
} from './rows.js';

export type * from './channel-rows.js';
export type * from './cluster-report.js';
export type * from './rows.js';

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

/** State that all processes know. */
export interface AdminState {
  readonly blocks: readonly AdminBlock[];
  readonly tokens: readonly MadeToken[];
  readonly fallbacks: readonly ChannelFallback[];
  readonly logins: LoginState;
}
export const NO_ADMIN_STATE: AdminState = { blocks: [], tokens: [], fallbacks: [], logins: NO_LOGINS };

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
