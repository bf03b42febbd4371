/** Operators' questions, as they are sent in one process and over a link, and the hub's answers to them: plain data. Times are unix milliseconds. */

import type { z } from 'zod';
import type { Plain } from '../metadata/record-schema.js';
import type { AdminState, HUB_ASKS, ProcessQuestion, ProcessQuestions } from './admin-schema.js';
import type { ChannelDepth, ChannelSources } from './channel-rows.js';
import type { ClusterReport } from './cluster-report.js';
import { NO_LOGINS } from './logins.js';

export const NO_ADMIN_STATE: AdminState = { blocks: [], tokens: [], fallbacks: [], logins: NO_LOGINS };

/** The hub's answers. Any question may be rejected with a Refusal. */
interface AnswerOfHub {
  /** Null: no cluster. */
  readonly cluster: ClusterReport | null;
  readonly channels: readonly ChannelSources[];
  readonly depth: ChannelDepth;
  /** Whether one was connected. */
  readonly endEncoder: boolean;
  readonly moveEncoder: null;
  readonly pin: ChannelSources;
  readonly state: AdminState;
  /** Last uses of tokens, by id; those of configured tokens by channel and index. */
  readonly used: Readonly<Record<string, number>>;
  readonly block: null;
  /** Whether it was blocked. */
  readonly unblock: boolean;
  readonly putFallback: null;
  /** Whether there was one. */
  readonly removeFallback: boolean;
  readonly putToken: null;
  readonly rotateToken: null;
  /** Whether it existed. */
  readonly revokeToken: boolean;
  readonly beginLogins: null;
  readonly endLogin: null;
}
export type HubQuestion = keyof typeof HUB_ASKS;
export type HubQuestions = {
  readonly [Q in HubQuestion]: { readonly ask: Plain<z.output<(typeof HUB_ASKS)[Q]>>; readonly answer: AnswerOfHub[Q] };
};

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
