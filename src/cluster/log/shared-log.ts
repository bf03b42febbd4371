/**
 * What all nodes have in common, as a node asks for it: the log of changes, the last value of each channel, the leases. It is in Redis
 * (redis-log.ts), in the process of an origin (held-log.ts), or behind an origin (remote-log.ts).
 */

import type { Commit, CommitAnswer, JoinAnswer, Joining, LeaseAnswer, LeaseQuestion, RawEntry } from './log-schema.js';

/** Texts by channel, or by node. */
export type Pairs = readonly (readonly [name: string, text: string])[];

/** How long a lease may last at most, whatever a node asks for. */
export const MAX_LEASE_MS = 60_000;

/** It cannot be reached, or does not answer in time. What was asked may have happened. */
export class LogLost extends Error {
  override readonly name: string = 'LogLost';
}

/**
 * One node's way to it. It lives until the first thing goes wrong with it, and is not used again then. Everything rejects with LogLost, or with what
 * is said against it.
 */
export interface SharedLog {
  readonly isLost: boolean;
  /** Called once, when it is not used any more. */
  onLost: (reason: Error) => void;
  /** Idempotent. What is under way rejects. */
  close(): void;
  /** Unix milliseconds by its clock. */
  timeMs(): Promise<number>;
  /** Null: there is nothing. */
  epoch(): Promise<string | null>;
  hello(joining: Joining): Promise<JoinAnswer>;
  commit(change: Commit): Promise<CommitAnswer>;
  lease(asked: LeaseQuestion): Promise<LeaseAnswer>;
  /** The last values of these channels that have one. @param channels null: of all */
  last(channels: readonly string[] | null): Promise<Pairs>;
  /** The entries behind this number; waits for the first of them, at most this long; 0: not at all. Empty: none has come. */
  entriesAfter(seq: number, most: number, waitMs: number): Promise<readonly RawEntry[]>;
  /** Every node that has asked for leases: when it did last, and where it gives its tapes. */
  nodes(): Promise<Pairs>;
  forget(nodes: readonly string[]): Promise<void>;
}
