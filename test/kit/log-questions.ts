/** A node's questions to the shared log (src/cluster/log/shared-log.ts), with defaults for members that a test ignores. */

import type { AskedLease, Commit, Joining, LeaseQuestion } from '../../src/cluster/log/log-schema.js';

export function joining(said: Partial<Joining> = {}): Joining {
  return { freshEpoch: 'fresh', epoch: '', seq: 0, id: '', lastStamp: 0, ...said };
}

/** A commit of the version after `before`. */
export function commitOf(said: Partial<Commit> = {}): Commit {
  const { before = 0 } = said;
  return {
    epoch: '',
    channel: 'x',
    before,
    version: before + 1,
    hasRecord: false,
    lastStamp: 0,
    ordered: '{}',
    history: '[]',
    id: '1',
    node: 'a',
    logEntries: 1000,
    ...said,
  };
}

export function leaseQuestion(node: string, url: string, ...leases: readonly AskedLease[]): LeaseQuestion {
  return { node, url, run: url, lastsMs: 5000, staleMs: 800, leases };
}

export function askedLease(channel: string, said: Partial<AskedLease> = {}): AskedLease {
  return { channel, wish: 1, rank: 0, facts: '', known: null, ...said };
}

/** All questions to an origin, with arguments. */
export function questionsOf(channel: string) {
  return {
    timeMs: [],
    epoch: [],
    hello: [joining()],
    commit: [commitOf({ channel })],
    lease: [leaseQuestion('a', 'http://a', askedLease(channel))],
    last: [['a', 'b']],
    entriesAfter: [0, 2, 3],
    nodes: [],
    forget: [['a', 'b']],
  };
}
