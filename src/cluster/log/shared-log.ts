/**
 * The state that all nodes share: the log of changes, the last value of each channel, the leases. It is in Redis (redis-log.ts), in the process of an
 * origin (held-log.ts), or behind an origin (remote-log.ts).
 */

import type { Commit, CommitAnswer, JoinAnswer, Joining, LeaseAnswer, LeaseQuestion, RawEntry } from './log-schema.js';

/** Texts by channel, or by node. */
export type Pairs = readonly (readonly [name: string, text: string])[];

/** The default reason of a loss. */
export const CLOSED = 'it was closed';

/** Maximum duration of a lease, whatever a node asks for. */
export const MAX_LEASE_MS = 60_000;
/** Of the nodes that have asked for leases, the newest are kept. */
export const MAX_NODES = 1000;

/**
 * Bytes (in an origin: characters) of an answer with several values, and of one value; a longer one is malformed. Both together fit in a message, and
 * in one answer of Redis (reply-bounds.ts).
 */
export const ANSWER_BYTES = 8 * 1024 * 1024;
export const MAX_VALUE_BYTES = 48 * 1024 * 1024;

/** It cannot be reached, or has not answered in time. The request may have been executed. */
export class LogLost extends Error {
  override readonly name: string = 'LogLost';
}

/** Called once, when a connection to the log is lost. */
export type OnLogLost = (reason: Error) => void;

/** Opens a connection to the log. Rejects if it cannot be reached now. @param onLost may be called before this resolves, and if it rejects */
export type OpenSharedLog = (onLost: OnLogLost) => Promise<SharedLog>;

/**
 * A node's connection to it, which is lost for good with its first failure. All methods reject with LogLost, or with the error that it answers.
 */
export interface SharedLog {
  readonly isLost: boolean;
  /** Idempotent. Pending requests reject. @param reason for OnLogLost */
  close(reason?: string): void;
  /** Unix milliseconds by its clock. */
  timeMs(): Promise<number>;
  /** Null: it is empty. */
  epoch(): Promise<string | null>;
  hello(joining: Joining): Promise<JoinAnswer>;
  commit(change: Commit): Promise<CommitAnswer>;
  lease(asked: LeaseQuestion): Promise<LeaseAnswer>;
  /** The last values of the first of these channels that have one, in their order, as many as fit in an answer. Empty: none has one. */
  last(channels: readonly string[]): Promise<Pairs>;
  /**
   * The entries after this number; of one that is too long for an answer, and is asked for alone, only its short fields.
   * @param waitMs how long to wait for the first one; 0: not
   */
  entriesAfter(seq: number, most: number, waitMs: number): Promise<readonly RawEntry[]>;
  /** Every node that has asked for leases, with the time of its last question, the URL of its tapes, and its process. */
  nodes(): Promise<Pairs>;
  forget(nodes: readonly string[]): Promise<void>;
}
